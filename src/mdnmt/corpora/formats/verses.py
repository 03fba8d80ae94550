"""Join two translations of one book verse by verse; chapters with different verse numbers are left out."""

from __future__ import annotations

import re
from collections.abc import Iterator

# Chapter (book and number) -> (verse number, text) in order.
Chapters = dict[tuple[int, int], list[tuple[int, str]]]

_BRACKETS = re.compile(r"[\[\]{}]")
_ANGLES = re.compile(r"<[^<>]*>")


def join(source: Chapters, target: Chapters) -> Iterator[tuple[str, str]]:
    """Yield the verses of the chapters in which both editions have the same verse numbers in the same order."""
    for chapter, verses in source.items():
        others = target.get(chapter, [])
        if [number for number, _ in verses] == [number for number, _ in others]:
            for (_, text), (_, other) in zip(verses, others, strict=True):
                yield plain(text), plain(other)


def plain(verse: str) -> str:
    """Return a verse without `<...>` and without the brackets around words that the translators supplied."""
    return _BRACKETS.sub("", _ANGLES.sub("", verse))
