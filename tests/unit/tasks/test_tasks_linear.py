"""Long lines of a user's text are read to their end or refused."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from mdnmt.corpora.formats.lines import LINE_BYTES_MAX, checked_lines
from mdnmt.errors import DataError
from mdnmt.tasks.doctor import wrong_language
from mdnmt.tasks.doctor.findings import Findings
from mdnmt.tasks.doctor.user_text import _Side
from mdnmt.tasks.text import tokenise

KINDS = ["a", "@", "a@", ".", "a.", "a..", " ", "a ", "://", "a://", "@ ", "a ’ ", "’", "中", "中 ", "-a", "@@a"]


@pytest.mark.slow
def test_a_megabyte_without_a_line_break_is_read() -> None:
    for kind in KINDS:
        text = kind * (LINE_BYTES_MAX // len(kind.encode()))
        wrong_language.suspect(text, "en")
        assert "".join(tokenise._as_tokens(text)) == "".join(text.split()), kind
    assert tokenise._as_tokens("@" * 1000 + "a") == ["@" * 1000 + "a"]


def test_a_word_that_ends_like_a_marker_is_taken_apart() -> None:
    for words, tokens in (("a@@ b", "a@ @ b"), ("a@@@", "a@ @ @"), ("a@ @@b", "a@ @@b")):
        assert " ".join(tokenise._as_tokens(words)) == tokens


class Text:
    label = "texts"

    def __init__(self, blocks: list[bytes]) -> None:
        self._blocks = blocks

    def blocks(self, name: str) -> Iterator[bytes]:
        yield from self._blocks


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 1000, 1 << 20, 1 << 22])
@pytest.mark.parametrize("before", [0, 5])
def test_the_bound_of_a_line_does_not_depend_on_how_the_text_comes(size: int, before: int) -> None:
    if size == 1:
        size = LINE_BYTES_MAX + 1  # a line alone, to its last byte
    for length in (LINE_BYTES_MAX, LINE_BYTES_MAX + 1):
        data = b"short\n" * before + b"x" * length + b"\nshort\n"
        blocks = [data[start : start + size] for start in range(0, len(data), size)]
        found = Findings()
        doctored = [len(line) for line in _Side(Text(blocks), "a.en", "en", found).lines()]  # type: ignore[arg-type]
        if length == LINE_BYTES_MAX:
            assert [len(line) for line in checked_lines(blocks, "a.en")] == doctored == [5] * before + [length, 5]
            assert not list(found)
            continue
        with pytest.raises(DataError, match=rf"a\.en:{before + 1}: is longer than {LINE_BYTES_MAX} bytes"):
            list(checked_lines(blocks, "a.en"))
        assert doctored == [5] * before + [LINE_BYTES_MAX]
        assert len(list(found)) == 1
