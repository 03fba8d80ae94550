"""Count the steps of regular expressions, and find all that the package has.

The steps of Python's own matcher cannot be counted. This one is slow and plain, and backtracks in the same way.
"""

from __future__ import annotations

import ast
import importlib
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from re import _constants as op
from re import _parser
from typing import Any

_FUNCTIONS = {"compile", "search", "sub", "subn", "split", "match", "fullmatch", "findall", "finditer"}
_ANCHORED = {"match", "fullmatch"}  # tried at the start of the text alone
_SINGLE = (op.LITERAL, op.NOT_LITERAL, op.IN, op.ANY)


@dataclass(frozen=True)
class Expression:
    """A regular expression of the package.

    Attributes:
        place: module and line.
        pattern: compiled.
        anchored: nothing looks for it further on in a text.
    """

    place: str
    pattern: re.Pattern[Any]
    anchored: bool


def expressions(source: Path) -> list[Expression]:
    """Return all regular expressions of the package `mdnmt` in a folder; what is only known when it runs is an `x`."""
    found = []
    for path in sorted((source / "mdnmt").rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and _called(node, "re") in _FUNCTIONS]
        if not calls:
            continue
        name = ".".join(path.relative_to(source).with_suffix("").parts).removesuffix(".__init__")
        names = vars(importlib.import_module(name))
        for call in calls:
            pattern = _pattern(call, names)
            if pattern is not None:
                how = {_called(call, "re")} if _called(call, "re") != "compile" else _uses(tree, call)
                found.append(Expression(f"{name}:{call.lineno}", pattern, bool(how) and how <= _ANCHORED))
    return found


def _called(node: ast.Call, owner: str) -> str:
    function = node.func
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) and function.value.id == owner:
        return function.attr
    return ""


def _uses(tree: ast.Module, call: ast.Call) -> set[str]:
    """Return the methods that a module calls of a compiled expression; none if it is not simply a variable."""
    assigned = [node for node in ast.walk(tree) if isinstance(node, ast.Assign) and node.value is call]
    names = {target.id for node in assigned for target in node.targets if isinstance(target, ast.Name)}
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)]
    return {node.attr for node in nodes if node.value.id in names}  # type: ignore[attr-defined]


def _pattern(call: ast.Call, names: dict[str, Any]) -> re.Pattern[Any] | None:
    def value(node: ast.expr) -> Any:
        return eval(compile(ast.Expression(node), "pattern", "eval"), dict(names))

    flags = [*call.args[1:], *(word.value for word in call.keywords if word.arg == "flags")]
    flag = sum(value(node) for node in flags if ast.unparse(node).startswith("re."))
    try:
        return re.compile(value(call.args[0]), flag)
    except NameError:
        if not isinstance(call.args[0], ast.JoinedStr):
            return None
        parts = (part.value if isinstance(part, ast.Constant) else "x" for part in call.args[0].values)
        return re.compile("".join(map(str, parts)), flag)


def steps(pattern: re.Pattern[Any], text: str, *, anchored: bool = False) -> int:
    """Return how many steps it takes to look for all matches in a text, as `sub` does, or for one at its start."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(20_000)
    try:
        return _Matcher(pattern, text).count_all(anchored)
    finally:
        sys.setrecursionlimit(before)


class _Matcher:
    def __init__(self, pattern: re.Pattern[Any], text: str) -> None:
        source = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
        self.ignore_case = bool(pattern.flags & re.IGNORECASE)
        self.any_line, self.every_line = pattern.flags & re.DOTALL, pattern.flags & re.MULTILINE
        self.text, self.count = text, 0
        self.parsed = list(_parser.parse(source, pattern.flags & ~re.UNICODE))

    def count_all(self, anchored: bool) -> int:
        start = 0
        while start <= len(self.text):
            ends: list[int] = []
            found = self.match(self.parsed, start, lambda end, ends=ends: not ends.append(end))  # type: ignore[misc]
            start = max(start + 1, ends[0]) if found else start + 1
            if anchored:
                break
        return self.count

    def match(self, nodes: list[Any], at: int, then: Callable[[int], bool]) -> bool:
        self.count += 1
        if not nodes:
            return then(at)
        (kind, value), rest = nodes[0], nodes[1:]
        after: Callable[[int], bool] = lambda end: self.match(rest, end, then)  # noqa: E731
        if kind in _SINGLE:
            return at < len(self.text) and self.fits(kind, value, self.text[at]) and after(at + 1)
        if kind in (op.MAX_REPEAT, op.MIN_REPEAT):
            if len(value[2]) == 1 and value[2][0][0] in _SINGLE:
                return self.repeat_one(value, at, after, lazy=kind is op.MIN_REPEAT)
            return self.repeat(value, at, 0, after, lazy=kind is op.MIN_REPEAT)
        if kind in (op.POSSESSIVE_REPEAT, op.ATOMIC_GROUP):
            least, most, inner = value if kind is op.POSSESSIVE_REPEAT else (1, 1, value)
            times = 0
            for end in self.forward(list(inner), at, most):
                at, times = end, times + 1
            return times >= least and after(at)
        if kind is op.SUBPATTERN:
            return self.match([*value[-1], *rest], at, then)
        if kind is op.BRANCH:
            return any(self.match([*branch, *rest], at, then) for branch in value[1])
        if kind in (op.ASSERT, op.ASSERT_NOT):
            direction, inner = value
            begin = at if direction > 0 else at - inner.getwidth()[0]
            seen = begin >= 0 and self.match(list(inner), begin, lambda end: True)
            return seen == (kind is op.ASSERT) and after(at)
        assert kind is op.AT, kind
        return self.is_at(value, at) and after(at)

    def is_at(self, value: Any, at: int) -> bool:
        if value in (op.AT_BEGINNING, op.AT_BEGINNING_STRING):
            return at == 0 or bool(self.every_line and value is op.AT_BEGINNING and self.text[at - 1] == "\n")
        if value in (op.AT_END, op.AT_END_STRING):
            return at == len(self.text) or bool(self.every_line and value is op.AT_END and self.text[at] == "\n")
        assert value in (op.AT_BOUNDARY, op.AT_NON_BOUNDARY), value
        inside = [0 <= place < len(self.text) and bool(re.match(r"\w", self.text[place])) for place in (at - 1, at)]
        return (inside[0] != inside[1]) == (value is op.AT_BOUNDARY)

    def repeat(self, value: Any, at: int, times: int, after: Callable[[int], bool], *, lazy: bool) -> bool:
        least, most, inner = value

        def more() -> bool:
            return times < most and self.match(
                list(inner), at, lambda end: end > at and self.repeat(value, end, times + 1, after, lazy=lazy)
            )

        def enough() -> bool:
            return times >= least and after(at)

        return (enough() or more()) if lazy else (more() or enough())

    def repeat_one(self, value: Any, at: int, after: Callable[[int], bool], *, lazy: bool) -> bool:
        least, most, [(kind, inner)] = value
        most = min(int(most), len(self.text) - at)
        end = 0
        while end < (least if lazy else most) and end < most and self.fits(kind, inner, self.text[at + end]):
            end, self.count = end + 1, self.count + 1
        if end < least:
            return False
        if not lazy:
            return any(after(at + length) for length in range(end, least - 1, -1))
        while not after(at + end):
            if end >= most or not self.fits(kind, inner, self.text[at + end]):
                return False
            end, self.count = end + 1, self.count + 1
        return True

    def forward(self, inner: list[Any], at: int, most: int) -> Iterator[int]:
        for _ in range(min(int(most), len(self.text) + 1)):
            ends: list[int] = []
            if not self.match(inner, at, lambda end, ends=ends: not ends.append(end)) or ends[0] == at:  # type: ignore[misc]
                return
            at = ends[0]
            yield at

    def fits(self, kind: Any, value: Any, character: str) -> bool:
        if kind is op.ANY:
            return bool(self.any_line) or character != "\n"
        cases = {character, character.lower(), character.upper()} if self.ignore_case else {character}
        if kind is not op.IN:
            return any(ord(case) == value for case in cases if len(case) == 1) == (kind is op.LITERAL)
        negated = value[0][0] is op.NEGATE
        return any(_is_in(*item, case) for case in cases for item in value[negated:]) != negated


def _is_in(kind: Any, value: Any, character: str) -> bool:
    if kind is op.LITERAL:
        return character == chr(value)
    if kind is op.RANGE:
        return bool(value[0] <= ord(character[0]) <= value[1])
    classes = {"WORD": r"\w", "SPACE": r"\s", "DIGIT": r"\d"}
    name = str(value).removeprefix("CATEGORY_")
    return bool(re.match(classes[name.removeprefix("NOT_")], character)) != name.startswith("NOT_")


def literals(pattern: re.Pattern[Any]) -> list[str]:
    """Return the characters that an expression names, sorted: what text that is awkward for it consists of."""
    found: set[str] = set()

    def collect(node: Any) -> None:
        if isinstance(node, tuple) and len(node) == 2 and node[0] in (op.LITERAL, op.NOT_LITERAL):
            found.add(chr(node[1]))
        elif isinstance(node, tuple) and len(node) == 2 and node[0] is op.RANGE:
            found.add(chr(node[1][0]))
        elif isinstance(node, tuple | list | _parser.SubPattern):
            for part in node:
                collect(part)

    source = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
    collect(_parser.parse(source, pattern.flags & ~re.UNICODE))
    return sorted(found)
