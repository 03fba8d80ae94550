"""Configurations mutated at random: not one clear mistake, but whatever a text editor, a script or a cat can do.

Each is drawn from its number alone, so that one that broke something can be made again.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml
from bad_config import Place, changed, dump, walk

FILES = (
    "config.yaml",
    "studies/tiny.yaml",
    "tasks/tiny.yaml",
    "corpora/tiny-law.yaml",
    "methods/transformer.yaml",
    "methods/waldm-edc.yaml",
    "papers/jiang2020.yaml",
    "claims/jiang2020.yaml",
    "audit/jiang2020.yaml",
    "published/jiang2020.tsv",
)
NESTED: Any = "x"
for _ in range(60):
    NESTED = [NESTED]
# What any key may get.
STRANGE: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 10**9, 10**18, 10**400, -(10**30), 0.5, 1e308, -0.0, float("nan"), float("inf"),
    "", " ", "x" * 100_000, "ünïcödé", "中文", "\u202edlrow", "a\u0000b", "a\x1b[31mb", "a\nb", "\ud83d", "1e5", "null",
    "../../etc/passwd", "/", "~", "$(id)", "{x}", "{", "%s", "<script>", "mixed", "tiny", "tiny-law", "all", [], {},
    [[]], [None], [{}], {"": 1}, {"x": {"y": {"z": []}}}, ["mixed"] * 500, list(range(1000)), NESTED,
)  # fmt: skip

LINES = (
    b"<<: *x\n", b"&x y: *x\n", b"- \n", b"\t\n", b"---\n", b"%YAML 9.9\n", b"? \n", b"!!set {}\n", b"x: |\n", b"'\n",
    b"a: &a [*a, *a]\n", b"x: >\n  y\n", b"\xff\xfe\n", b'"\n', b"x: !!binary 4\n", b"? {a: b}\n: c\n",
    b"x: 0b11_1\n", b"x: 1:2:3\n", b"x: 2020-13-01\n", b"x: .nan\n",
)  # fmt: skip


def _places(value: Any) -> list[Place]:
    return [place for place, _ in walk(value)]


def _strange_value(value: Any, draw: random.Random) -> Any:
    return changed(value, draw.choice(_places(value)), draw.choice(STRANGE))


def _of_elsewhere(value: Any, draw: random.Random) -> Any:
    """Put a value of the file in another place of it."""
    place, (_, other) = draw.choice(_places(value)), draw.choice(list(walk(value)))
    return changed(value, place, other)


def _removed(value: Any, draw: random.Random) -> Any:
    return changed(value, draw.choice(_places(value)), remove=True)


def _new_key(value: Any, draw: random.Random) -> Any:
    mappings = [place for place, inner in [((), value), *walk(value)] if isinstance(inner, dict)]
    place = draw.choice(mappings)
    key = draw.choice(["x", "", "model_dim", "like", "tasks", "ключ", "a" * 10_000, 7, True, None])
    inner = value
    for part in place:
        inner = inner[part]
    return changed({"": value}, ("", *place), {**inner, key: draw.choice(STRANGE)})[""]


def _scaled(value: Any, draw: random.Random) -> Any:
    """Multiply a number, or make a list longer."""
    found = [(p, v) for p, v in walk(value) if isinstance(v, int | float | list) and not isinstance(v, bool)]
    if not found:
        return _strange_value(value, draw)
    place, old = draw.choice(found)
    return changed(value, place, old * draw.choice([2, 3, 1000]))


def _bytes_flipped(text: bytes, draw: random.Random) -> bytes:
    data = bytearray(text)
    for _ in range(draw.randint(1, 4)):
        data[draw.randrange(len(data))] = draw.randrange(256)
    return bytes(data)


def _cut(text: bytes, draw: random.Random) -> bytes:
    return text[: draw.randrange(len(text))]


def _line_twice(text: bytes, draw: random.Random) -> bytes:
    lines = text.splitlines(keepends=True)
    at = draw.randrange(len(lines))
    return b"".join([*lines[: at + 1], *lines[at : at + draw.randint(1, 3)], *lines[at + 1 :]])


def _line_inserted(text: bytes, draw: random.Random) -> bytes:
    lines = text.splitlines(keepends=True)
    line = draw.choice(LINES)
    lines.insert(draw.randrange(len(lines) + 1), line)
    return b"".join(lines)


def _indented(text: bytes, draw: random.Random) -> bytes:
    lines = text.splitlines(keepends=True)
    at = draw.randrange(len(lines))
    lines[at] = b" " * draw.randint(1, 5) + lines[at] if draw.random() < 0.5 else lines[at].lstrip()
    return b"".join(lines)


OF_VALUE: tuple[Callable[[Any, random.Random], Any], ...] = (
    _strange_value, _strange_value, _strange_value, _of_elsewhere, _removed, _new_key, _scaled,
)  # fmt: skip
OF_TEXT: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    _bytes_flipped, _cut, _line_twice, _line_inserted, _indented,
)  # fmt: skip


def mutated(config: Path, number: int) -> tuple[str, str, bytes]:
    """Return a file of `config`, what was done to it, and its new content: from one to three mutations."""
    draw = random.Random(number)
    file = FILES[number % len(FILES)]
    text = (config / file).read_bytes()
    is_yaml = file.endswith(".yaml")
    if is_yaml and draw.random() < 0.6:
        value = json.loads(json.dumps(yaml.safe_load(text), default=str))
        names = []
        for _ in range(draw.randint(1, 3)):
            if not isinstance(value, dict) or not _places(value):
                break
            mutate = draw.choice(OF_VALUE)
            value, name = mutate(value, draw), mutate.__name__
            names.append(name)
        try:
            return file, ", ".join(names), dump(value)
        except (yaml.YAMLError, UnicodeEncodeError, ValueError):
            return file, ", ".join(names), json.dumps(value).encode("utf-8", "surrogatepass")
    of_text = draw.choice(OF_TEXT)
    return file, of_text.__name__, of_text(text, draw)
