"""The time to look at a user's text grows with its length alone: counted in steps of a matcher, not in seconds."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from re import _constants as op
from re import _parser
from typing import Any

import pytest

from mdnmt.corpora.formats.lines import LINE_BYTES_MAX, checked_lines
from mdnmt.errors import DataError
from mdnmt.tasks.doctor import wrong_language
from mdnmt.tasks.doctor.findings import Findings
from mdnmt.tasks.doctor.user_text import _Side
from mdnmt.tasks.splits import near_duplicates
from mdnmt.tasks.text import clean, tokenise

PATTERNS = {
    "address": wrong_language._ADDRESS,
    "evidence": wrong_language._WORD,
    "letters": wrong_language._LETTERS["Latin"],
    "near": near_duplicates._WORD,
    "clean": clean._WORD,
    "apostrophe": tokenise._LONE_APOSTROPHE,
    "markers": tokenise._MARKERS_AT_END,
    "characters": tokenise._CHARACTER,
    "blanks": tokenise._BLANK,
}
KINDS = ["a", "@", "a@", ".", "a.", "a..", " ", "a ", "://", "a://", "@ ", "a ’ ", "’", "中", "中 ", "-a", "@@a"]


class Steps:
    """A backtracking matcher as Python's, slow and plain, that counts what it tries."""

    def __init__(self, pattern: str, text: str) -> None:
        self.text, self.count, self.parsed = text, 0, _parser.parse(pattern)

    def search_all(self) -> int:
        """Look for all matches, as `sub` does, and return the steps that it took."""
        start = 0
        while start <= len(self.text):
            ends: list[int] = []
            found = self.match(list(self.parsed), start, lambda end, ends=ends: not ends.append(end))  # type: ignore[misc]
            start = max(start + 1, ends[0]) if found else start + 1
        return self.count

    def match(self, nodes: list[Any], at: int, then: Callable[[int], bool]) -> bool:
        self.count += 1
        if not nodes:
            return then(at)
        (kind, value), rest = nodes[0], nodes[1:]
        after: Callable[[int], bool] = lambda end: self.match(rest, end, then)  # noqa: E731
        if kind in (op.LITERAL, op.NOT_LITERAL, op.IN, op.ANY):
            return at < len(self.text) and self.fits(kind, value, self.text[at]) and after(at + 1)
        if kind is op.MAX_REPEAT:
            return self.repeat(value, at, 0, after)
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
            return (begin >= 0 and self.match(list(inner), begin, lambda end: True)) == (kind is op.ASSERT) and after(
                at
            )
        assert kind is op.AT and value in (op.AT_END, op.AT_END_STRING), kind
        return at == len(self.text) and after(at)

    def repeat(self, value: Any, at: int, times: int, after: Callable[[int], bool]) -> bool:
        least, most, inner = value
        if times < most and self.match(
            list(inner), at, lambda end: end > at and self.repeat(value, end, times + 1, after)
        ):
            return True
        return times >= least and after(at)

    def forward(self, inner: list[Any], at: int, most: int) -> Iterator[int]:
        for _ in range(min(int(most), len(self.text) + 1)):
            ends: list[int] = []
            if not self.match(inner, at, lambda end, ends=ends: not ends.append(end)) or ends[0] == at:  # type: ignore[misc]
                return
            at = ends[0]
            yield at

    def fits(self, kind: Any, value: Any, character: str) -> bool:
        if kind is op.ANY:
            return character != "\n"
        if kind is not op.IN:
            return (ord(character) == value) == (kind is op.LITERAL)
        negated = value[0][0] is op.NEGATE
        return any(self.is_in(*item, character) for item in value[negated:]) != negated

    def is_in(self, kind: Any, value: Any, character: str) -> bool:
        if kind is op.LITERAL:
            return ord(character) == value
        if kind is op.RANGE:
            return bool(value[0] <= ord(character) <= value[1])
        classes = {"WORD": r"\w", "SPACE": r"\s", "DIGIT": r"\d"}
        name = str(value).removeprefix("CATEGORY_")
        return bool(re.match(classes[name.removeprefix("NOT_")], character)) != name.startswith("NOT_")


def steps(pattern: str, text: str) -> int:
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(20_000)
    try:
        return Steps(pattern, text).search_all()
    finally:
        sys.setrecursionlimit(before)


def test_the_matcher_sees_what_is_quadratic() -> None:
    old = r"\w+://\S+|\S+@\S+|\b\w+(?:\.\w+)+".replace(r"\b", r"(?<!\w)")
    assert steps(old, "a" * 200) > 3.5 * steps(old, "a" * 100)


@pytest.mark.parametrize("name", PATTERNS)
def test_twice_the_text_is_twice_the_work(name: str) -> None:
    for kind in KINDS:
        short, long = (steps(PATTERNS[name].pattern, (kind * 240)[:length]) for length in (120, 240))
        assert long < 2.3 * short, f"{name}: {kind!r} takes {short} steps, and {long} of twice as much"


@pytest.mark.parametrize("kind", KINDS)
def test_a_megabyte_without_a_line_break_is_read(kind: str) -> None:
    text = kind * (LINE_BYTES_MAX // len(kind.encode()))
    wrong_language.suspect(text, "en")
    assert tokenise._as_tokens("@" * 1000 + "a") == ["@" * 1000 + "a"]
    assert "".join(tokenise._as_tokens(text)) == "".join(text.split())


@pytest.mark.parametrize(("words", "tokens"), [("a@@ b", "a@ @ b"), ("a@@@", "a@ @ @"), ("a@ @@b", "a@ @@b")])
def test_a_word_that_ends_like_a_marker_is_taken_apart(words: str, tokens: str) -> None:
    assert " ".join(tokenise._as_tokens(words)) == tokens


@pytest.mark.parametrize(
    "text", ["see http://x.org/a?b=c now", "mail a.b@c.org now", "use os.path.join now", "mailto:a@b"]
)
def test_addresses_are_no_words(text: str) -> None:
    left = wrong_language._ADDRESS.sub(" ", text).split()
    assert left == [word for word in text.split() if word in ("see", "mail", "use", "now")]


class Text:
    label = "texts"

    def __init__(self, blocks: list[bytes]) -> None:
        self._blocks = blocks

    def blocks(self, name: str) -> Iterator[bytes]:
        yield from self._blocks


@pytest.mark.parametrize("size", [1, 1000, 1 << 16, 1 << 20, 1 << 22])
@pytest.mark.parametrize("before", [0, 5])
def test_the_bound_of_a_line_does_not_depend_on_how_the_text_comes(size: int, before: int) -> None:
    if size == 1:
        size = LINE_BYTES_MAX + 1  # a line alone, to its last byte
    for length in (LINE_BYTES_MAX, LINE_BYTES_MAX + 1):
        data = b"short\n" * before + b"x" * length + b"\nshort\n"
        blocks = [data[start : start + size] for start in range(0, len(data), size)]
        found = Findings()
        doctored = [len(line) for line in _Side(Text(blocks), "a.en", found).lines()]  # type: ignore[arg-type]
        if length == LINE_BYTES_MAX:
            assert [len(line) for line in checked_lines(blocks, "a.en")] == doctored == [5] * before + [length, 5]
            assert not list(found)
            continue
        with pytest.raises(DataError, match=rf"a\.en:{before + 1}: is longer than {LINE_BYTES_MAX} bytes"):
            list(checked_lines(blocks, "a.en"))
        assert doctored == [5] * before + [LINE_BYTES_MAX]
        assert len(list(found)) == 1
