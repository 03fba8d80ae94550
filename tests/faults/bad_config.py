"""Bad configurations by the hundred: every file of config/ with one mistake in it, made by walking its keys."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

Place = tuple[Any, ...]

# What no key of the given kind takes; a number in words is no number, and yes is none either.
WRONG: dict[str, list[Any]] = {
    "text": [{"wrong": 1}, ["a", ["b"]], 7.5],
    "number": ["many", True, {"wrong": 1}, [1.5, "x"], float("nan"), float("inf")],
    "truth": ["perhaps", {"wrong": 1}, 2],
    "list": [{"wrong": 1}, 7],
    "keys": ["text", 7, [1]],
    "nothing": [],
}
ROW = {
    "file": "a.zip",
    "size_bytes": 9,
    "sha256": "0a" * 32,
    "origin": "https://example.org/a.zip",
    "date": "2026-01-02",
}
# Files that a checkout may lack, or that say next to nothing in it, with something behind every key.
FULL: dict[str, Any] = {
    "cluster.yaml": {
        "account": "lab",
        "qos": "long",
        "partitions": {"cpu": "compute", "gpu": "gpu"},
        "gpu_model": "a100",
        "ask_for_gpus_by": "gres",
        "modules": ["cuda/12.4"],
        "cores": 8,
        "longest_minutes": 2880,
        "sbatch_options": "--constraint=ib",
        "sizes": {
            "large": {
                "up_to_parameters": 10**9, "mem_mb": 1000, "train_minutes": 60, "translate_minutes": 30, "gpus": 1,
            },
        },
    },
    "methods/transformer.yaml": {
        "builder": "transformer",
        "methods": {
            **{name: {"label": name} for name in ("single", "single-enlarged", "mixed-enlarged", "big")},
            "mixed": {
                "label": "Mixed",
                "train_on": "all",
                "architecture": {"norm": "pre", "label_smoothing": 0.1},
                "training": {"clip_norm": 1.0, "adam_eps": 1.0e-9, "schedule": "polynomial"},
            },
        },
    },
    "corpora.lock.yaml": {"corpora": {"tiny-law": [{**ROW}]}, "known": {"kde": [{**ROW}, {**ROW, "file": "b.zip"}]}},
    "tasks.lock.yaml": {
        "tasks": {"tiny": {"0123abcd": {split: {"law": "0123456789abcdef"} for split in ("train", "valid", "test")}}}
    },
}  # fmt: skip


@dataclass(frozen=True)
class BadConfig:
    """One file with one mistake.

    Attributes:
        kind: of the mistake.
        file: whose text is replaced, below config/.
        content: what stands there instead.
        names: what the message must hold beside the file's name, each of them.
    """

    kind: str
    file: str
    content: bytes
    names: tuple[str, ...]

    @property
    def label(self) -> str:
        return f"{self.kind}: {self.file}: {', '.join(self.names)}"


def walk(value: Any, place: Place = ()) -> Iterator[tuple[Place, Any]]:
    """Yield every place of a YAML file's value with what stands there."""
    if place:
        yield place, value
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from walk(inner, (*place, key))


def changed(value: Any, place: Place, new: Any = None, *, key: Any = None, remove: bool = False) -> Any:
    """Return a copy of `value` with another value, or another key, or nothing at `place`."""
    value = copy.deepcopy(value)
    parent = value
    for part in place[:-1]:
        parent = parent[part]
    if remove:
        del parent[place[-1]]
    elif key is not None:
        items = [(key if name == place[-1] else name, inner) for name, inner in parent.items()]
        parent.clear()
        parent.update(items)
    else:
        parent[place[-1]] = new
    return value


def sort_of(value: Any) -> str:
    for kind, name in ((bool, "truth"), (int | float, "number"), (str, "text"), (list, "list"), (dict, "keys")):
        if isinstance(value, kind):
            return name
    return "nothing"


def misspelt(word: str, draw: random.Random) -> str:
    """Return a word with two letters exchanged, or one twice where that changes nothing."""
    at = draw.randrange(max(1, len(word) - 1))
    swapped = word[:at] + word[at + 1 : at + 2] + word[at : at + 1] + word[at + 2 :]
    return swapped if swapped != word else f"{word[:at]}{word[at : at + 1]}{word[at:]}"


def dump(value: Any) -> bytes:
    return yaml.safe_dump(value, sort_keys=False, allow_unicode=True).encode()


def dotted(place: Place) -> str:
    return ".".join(str(part) for part in place)


class Mistakes:
    """Draws mistakes in one file; the same ones whenever the file is the same.

    Attributes:
        free: keys below which a name is the user's own choice, so that another one is no mistake of spelling.
        anything: keys that take every value.
    """

    def __init__(self, config: Path, file: str, free: set[str], anything: set[str] = frozenset()) -> None:  # type: ignore[assignment]
        self.file, self.free, self.anything = file, free, anything
        # Anchors share their value with all aliases: through JSON each place gets its own, and a mistake stays in one.
        self.value = json.loads(json.dumps(yaml.safe_load((config / file).read_text()), default=str))
        self.places = list(walk(self.value))
        self.draw = random.Random(file)

    def _some(self, found: list[Any], number: int) -> list[Any]:
        return found if len(found) <= number else self.draw.sample(found, number)

    def misspelt_keys(self, number: int) -> Iterator[BadConfig]:
        def given(place: Place) -> bool:
            return isinstance(place[-1], str) and not (len(place) > 1 and place[-2] in self.free)

        for place, _ in self._some([(place, value) for place, value in self.places if given(place)], number):
            wrong = misspelt(place[-1], self.draw)
            if wrong != place[-1]:
                yield BadConfig("misspelt key", self.file, dump(changed(self.value, place, key=wrong)), (wrong,))

    def wrong_types(self, number: int) -> Iterator[BadConfig]:
        found = [(p, wrong) for p, v in self.places if not self.anything & set(p) for wrong in WRONG[sort_of(v)]]
        for place, wrong in self._some(found, number):
            named = next(part for part in reversed(place) if isinstance(part, str))
            yield BadConfig("wrong type", self.file, dump(changed(self.value, place, wrong)), (named,))

    def out_of_range(self, number: int) -> Iterator[BadConfig]:
        found = [p for p, v in self.places if sort_of(v) == "number" and not self.anything & set(p)]
        for place in self._some(found, number):
            named = next(part for part in reversed(place) if isinstance(part, str))
            yield BadConfig("out of range", self.file, dump(changed(self.value, place, -1)), (named,))

    def missing(self, *keys: str) -> Iterator[BadConfig]:
        for key in keys:
            place = tuple(int(part) if part.isdecimal() else part for part in key.split("."))
            yield BadConfig("missing key", self.file, dump(changed(self.value, place, remove=True)), (key,))
