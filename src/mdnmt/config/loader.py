"""Read a YAML file into a configuration model; every mistake in it becomes one line that says where and what to do."""

from __future__ import annotations

import copy
import difflib
import inspect
import json
import re
import types
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache, lru_cache
from pathlib import Path
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

import yaml
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from mdnmt.errors import ConfigError, refuse_special_file
from mdnmt.workspace import config_file, config_files

MAX_VALUES = 100_000
# Larger files go to the slow loader: libyaml's crashes on values that are nested some ten thousand deep.
MOST_OPENED, MOST_FAST = 4000, 1_000_000
# Key of earlier versions -> what to write today.
REPLACED = {
    "bundle": "remove it; to use the runs of a bundle, start `mdnmt pull FOLDER --study NAME` once",
    "combine_jobs": "remove it: jobs are no longer combined; `mdnmt campaign` makes the runs of a small study",
    "all_methods": "write options: [{set: {architecture: ..., training: ...}}]",
    "per_task": "write options: [{match: {task: NAME}, set: ...}]",
    "per_method": "write options: [{match: {method: NAME}, set: ...}]",
    "learning_rates": "write options: [{set: {learning_rates: ...}}]",
}
# A file name has at most 255 bytes, and logs and temporary files join several names.
NAME_PATTERN = re.compile(r"^[a-z0-9][a-z0-9-]{0,79}$")
NAME_RULE = "1 to 80 lower-case letters, digits and dashes"
READ_AS_MISSING = ("nan", "null")  # by programs that read CSV files, pandas among them

M = TypeVar("M", bound=BaseModel)


class _UniqueKeyLoader(yaml.SafeLoader):
    """The safe loader; a key that occurs twice in one mapping is an error instead of silently replacing the first."""


class _FastLoader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """The same on libyaml: seven times as fast, with messages that say less."""


def _mapping_without_duplicates(loader: yaml.SafeLoader, node: yaml.MappingNode) -> dict[Any, Any]:
    seen: set[Hashable] = set()
    # Check before `<<` is merged: a key of the mapping itself may override a merged one.
    for key_node, _ in node.value:
        if key_node.tag == "tag:yaml.org,2002:merge":
            continue
        key = loader.construct_object(key_node, deep=True)
        if not isinstance(key, Hashable):
            raise yaml.constructor.ConstructorError(None, None, "a key must be a plain value", key_node.start_mark)
        if key in seen:
            raise yaml.constructor.ConstructorError(None, None, f"the key {key!r} occurs twice", key_node.start_mark)
        seen.add(key)
    loader.flatten_mapping(node)
    return loader.construct_mapping(node, deep=True)


for _loader in (_UniqueKeyLoader, _FastLoader):
    _loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping_without_duplicates)


def _refuse_bomb(node: yaml.Node | None, sizes: dict[int, int]) -> int:
    """Return how many values a node expands to, with every alias written out.

    Raises:
        ConstructorError: there are more than `MAX_VALUES`, or a value contains itself.
    """
    if not isinstance(node, yaml.CollectionNode):
        return 1
    if id(node) not in sizes:
        sizes[id(node)] = MAX_VALUES  # exceeds the limit if the node contains itself
        inner = node.value if isinstance(node, yaml.SequenceNode) else [part for pair in node.value for part in pair]
        sizes[id(node)] = 1 + sum(_refuse_bomb(part, sizes) for part in inner)
        if sizes[id(node)] > MAX_VALUES:
            raise yaml.constructor.ConstructorError(
                None, None, f"anchors (&, *) make more than {MAX_VALUES:,} values of it", node.start_mark
            )
    return sizes[id(node)]


def did_you_mean(word: str, allowed: Iterable[str]) -> str:
    """Return ` (did you mean 'x'?)` for the nearest of `allowed`, or an empty string when none is near."""
    near = difflib.get_close_matches(word, list(allowed), n=1, cutoff=0.6)
    return f" (did you mean {near[0]!r}?)" if near else ""


def load_yaml(path: Path) -> Any:
    """Return the value in a YAML file, read by the safe loader with duplicate keys refused.

    Raises:
        ConfigError: the file cannot be read, is not UTF-8 or is not YAML; the line is named.
    """
    refuse_special_file(path)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ConfigError(f"{path}: no such file") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: byte {error.start} is not UTF-8; save the file as UTF-8") from None
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror})") from None
    if sum(map(text.count, ("[", "{", "- ", "? "))) < MOST_OPENED and len(text) < MOST_FAST:
        with suppress(yaml.YAMLError, ValueError, RecursionError):
            return copy.deepcopy(_parsed(text))  # the caller's to change
    try:
        return _value(_UniqueKeyLoader(text))
    except yaml.MarkedYAMLError as error:
        line = f":{error.problem_mark.line + 1}" if error.problem_mark else ""
        raise ConfigError(f"{path}{line}: not valid YAML: {error.problem}") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: not valid YAML: {' '.join(str(error).split())}") from None


@lru_cache(maxsize=512)
def _parsed(text: str) -> Any:
    return _value(_FastLoader(text))  # who resolves all studies reads each file dozens of times


def _value(loader: Any) -> Any:
    node = loader.get_single_node()
    _refuse_bomb(node, {})
    return loader.construct_document(node) if node is not None else None


def line_of(path: Path, keys: Sequence[str | int]) -> int | None:
    """Return the line in a YAML file, from 1, that `keys` lead to, each inside the one before it; None: none."""
    node = _composed(path.read_text(encoding="utf-8"))
    line = None
    for key in keys:
        node, line = _inside_node(node, key)
        if line is None:
            return None
    return line


@cache
def _composed(text: str) -> yaml.Node | None:
    return yaml.compose(text, Loader=_FastLoader)


def _inside_node(node: yaml.Node | None, key: str | int) -> tuple[yaml.Node | None, int | None]:
    if isinstance(node, yaml.SequenceNode) and isinstance(key, int):
        return node.value[key], node.value[key].start_mark.line + 1
    pairs = node.value if isinstance(node, yaml.MappingNode) else []
    for name, value in pairs:
        if name.value == key:
            return value, name.start_mark.line + 1
    merged = [value for name, value in pairs if name.tag == "tag:yaml.org,2002:merge"]
    for one in (inner for value in merged for inner in (value.value if value.id == "sequence" else [value])):
        found, line = _inside_node(one, key)
        if line is not None:
            return found, line
    return None, None


def load_mapping(path: Path) -> dict[str, Any]:
    """Return the keys and values in a YAML file; an empty file has none.

    Raises:
        ConfigError: the file cannot be read, or holds something else.
    """
    value = load_yaml(path)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ConfigError(f"{path}: found {type(value).__name__}, expected keys and values (`key: value`)")
    return value


def load_model(path: Path, model: type[M]) -> M:
    """Read the YAML file `path` and return it as a validated `model`.

    Raises:
        ConfigError: one line with the file, the key, what was found and what is allowed.
    """
    return validate_model(load_mapping(path), model, str(path))


def validate_model(value: Any, model: type[M], where: str) -> M:
    """Return `value` as a validated `model`; `where` names its origin in errors.

    Raises:
        ConfigError: one line for the first mistake, and how many more there are.
    """
    for location in _truths(value, ()):
        keys, _, kinds = _descend(model, location)
        # Python treats true as 1, so a numeric key would accept it.
        if {int, float} & set(kinds) and bool not in kinds:
            raise ConfigError(f"{where}: {'.'.join(keys)}: input should be a number, found true or false")
    try:
        return model.model_validate(value)
    except ValidationError as error:
        errors = error.errors(include_url=False)
        # Show an unknown key before a missing one: it is often the missing one, misspelt.
        errors.sort(key=lambda detail: detail["type"] not in ("extra_forbidden", "invalid_key"))
        more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
        raise ConfigError(f"{where}: {_explain(errors[0], model)}{more}") from None


def parse_spec(text: str, model: type[M]) -> M:
    """Return a `model` from the JSON text of a `--spec` argument.

    Raises:
        ConfigError: it is not JSON, or not such a model.
    """
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"--spec: not JSON ({error}); the workflow writes it, see its rules") from None
    return validate_model(value, model, "--spec")


class NoSuchName(ConfigError):
    """A name without a file; the caller can add where the name was used."""


@contextmanager
def named_in(where: str) -> Iterator[None]:
    """Prefix the error about a name without a file with `where`, the place that gives the name."""
    try:
        yield
    except NoSuchName as error:
        raise ConfigError(f"{where}: {error}") from None


def find_named(folder: Path, name: str, kind: str) -> Path:
    """Return `folder/<name>.yaml`, where `folder` is one of the user's config/, or else the package's file.

    Raises:
        NoSuchName: the name is not one that `NAME_RULE` allows, or there is no such file.
    """
    check_name(name, kind)
    path = config_file(folder.parent, f"{folder.name}/{name}.yaml")
    if not path.is_file():
        known = config_files(folder.parent, f"{folder.name}/*.yaml")
        raise no_such_name(folder, name, kind, (found.stem for found in known))
    return path


def check_name(name: str, kind: str) -> None:
    """Refuse a name that cannot be that of a file.

    Raises:
        NoSuchName: it is not one that `NAME_RULE` allows.
    """
    if not NAME_PATTERN.fullmatch(name) or name in READ_AS_MISSING:
        raise NoSuchName(f"{kind} {_short(name)}: a name consists of {NAME_RULE}, and is not nan or null")


def no_such_name(folder: Path, name: str, kind: str, names: Iterable[str]) -> NoSuchName:
    """Return the error about a name that `folder` does not have, with the nearest of those that it has."""
    known = sorted(names)
    there = ", ".join(known) if known else "none"
    return NoSuchName(f"{folder}: no {kind} {name!r}{did_you_mean(name, known)}; there are: {there}")


def _explain(detail: ErrorDetails, model: type[BaseModel]) -> str:
    keys, beside, kinds = _descend(model, detail["loc"])
    key = ".".join(keys) or "the file"
    if detail["type"] == "extra_forbidden":
        allowed = sorted(beside)
        if keys[-1] in REPLACED:
            return f"unknown key {key!r}; {REPLACED[keys[-1]]}"
        listed = f"; allowed: {', '.join(allowed)}" if allowed else ""
        return f"unknown key {key!r}{did_you_mean(keys[-1], allowed)}{listed}"
    if detail["type"] == "missing":
        return f"the key {key!r} is missing"
    if detail["type"].startswith("union_tag"):
        # Name the key that selects the kind, not the mapping around it.
        tag = str(detail["ctx"]["discriminator"]).strip("'")
        key = f"{key}.{tag}"
        if detail["type"] == "union_tag_not_found":
            given = detail["input"] if isinstance(detail["input"], dict) else {}
            near = difflib.get_close_matches(tag, [str(name) for name in given], n=1, cutoff=0.6)
            return f"the key {key!r} is missing" + (f" (is it {near[0]!r}, misspelt?)" if near else "")
    if detail["type"].startswith("model_"):  # a plain value where keys are expected
        inner = next(kind for kind in kinds if _is_model(kind))
        first = next(iter(inner.model_fields))
        example = f", such as {keys[-1]}: {{{first}: {detail['input']}}}" if _accepts(inner, first, detail) else ""
        return f"{key}: found {_short(detail['input'])}, expected the keys {', '.join(inner.model_fields)}{example}"
    message = detail["msg"].removeprefix("Value error, ").replace("a valid tuple", "a list")
    message = message[:1].lower() + message[1:]
    if detail["type"] in ("literal_error", "union_tag_invalid"):
        wrong = detail["ctx"]["tag"] if detail["type"] == "union_tag_invalid" else detail["input"]
        allowed = re.findall(r"'([^']*)'", message.partition("expected")[2] or message)
        return f"{key}: found {_short(wrong)}{did_you_mean(str(wrong), allowed)}, expected one of {', '.join(allowed)}"
    found = "" if isinstance(detail["input"], dict) else f", found {_short(detail['input'])}"
    return f"{key}: {message}{found}"


def _accepts(model: type[BaseModel], key: str, detail: ErrorDetails) -> bool:
    try:
        model.model_validate({key: detail["input"]})
    except ValidationError:
        return False
    return True


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _truths(value: Any, place: tuple[int | str, ...]) -> Iterator[tuple[int | str, ...]]:
    """Yield the location of every `true` and `false` in plain values."""
    if isinstance(value, bool):
        yield place
    elif isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _truths(inner, (*place, key))


def _descend(model: type[BaseModel], location: tuple[int | str, ...]) -> tuple[list[str], set[str], list[Any]]:
    """Return the file's keys on the way to `location`, the keys allowed beside its last part, and its plain types."""
    keys: list[str] = []
    current: list[Any] = [model]
    beside: set[str] = set()
    for part in location:
        selected = [kind for kind in current if _tagged(kind, part)] if len(current) > 1 else []
        if selected and not any(part in kind.model_fields for kind in current if _is_model(kind)):
            current = selected  # a union's tag is part of pydantic's location but no key of the file
            continue
        keys.append(str(part))
        beside = {name for kind in current if _is_model(kind) for name in kind.model_fields}
        current = [inner for kind in current for inner in _inside(kind, part)]
    return keys, beside, current


def _inside(kind: Any, part: int | str) -> list[Any]:
    if _is_model(kind):
        field = kind.model_fields.get(part)
        return _alternatives(field.annotation) if field else []
    arguments = get_args(kind)
    if not arguments or not isinstance(get_origin(kind), type):
        return []
    return _alternatives(arguments[1] if issubclass(get_origin(kind), Mapping) else arguments[0])


def _alternatives(annotation: Any) -> list[Any]:
    """Return the plain types of an annotation: unions, `Annotated` and abstract classes are opened."""
    if get_origin(annotation) is Annotated:
        return _alternatives(get_args(annotation)[0])
    if get_origin(annotation) in (Union, types.UnionType):
        return [kind for argument in get_args(annotation) for kind in _alternatives(argument)]
    return annotation.__subclasses__() if inspect.isabstract(annotation) else [annotation]


def _is_model(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)


def _tagged(kind: Any, part: int | str) -> bool:
    """Say whether `part` is the value of a `Literal` field of the model `kind`."""
    return _is_model(kind) and any(part in get_args(field.annotation) for field in kind.model_fields.values())
