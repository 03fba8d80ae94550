"""The text of one split of a corpus as the doctor reads it: to its end, whatever is wrong with single lines."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import zip_longest
from typing import Protocol

from mdnmt.corpora.archive import Archive
from mdnmt.corpora.lines import LINE_BYTES_MAX
from mdnmt.tasks.findings import Findings


@dataclass(frozen=True)
class Line:
    """A pair of segments and where it stands."""

    source: str
    target: str
    place: str


class UserText(Protocol):
    """One split of one corpus."""

    @property
    def label(self) -> str:
        """Return what it is called."""

    def place(self, number: int) -> str:
        """Return how the pair of that number is called, counted from 1."""

    def lines(self, found: Findings) -> Iterator[Line]:
        """Yield the pairs; what is wrong with a line as such is added to `found`, a DataError is what stops it."""


@dataclass
class TwoFiles:
    """Line-aligned files, read side by side; what is not UTF-8 is replaced, and named."""

    archive: Archive
    source: str
    target: str

    @property
    def label(self) -> str:
        """Return how the source is called; both sides have the same line numbers."""
        return f"{self.archive.label}/{self.source}"

    def place(self, number: int) -> str:
        """Return file and line."""
        return f"{self.label}:{number}"

    def lines(self, found: Findings) -> Iterator[Line]:
        """Yield the pairs as far as both files go.

        Raises:
            DataError: a file is missing or cannot be read.
        """
        sides = [_Side(self.archive, name, found) for name in (self.source, self.target)]
        count = 0
        for one, other in zip_longest(*(side.lines() for side in sides)):
            if one is not None and other is not None:
                count += 1
                yield Line(one, other, self.place(count))
        if sides[0].count != sides[1].count:
            longer = sides[sides[1].count > sides[0].count].name
            found.add(
                "error",
                f"{self.source} has {sides[0].count:,} lines, {self.target} has {sides[1].count:,}",
                "both need the same number: look for the first pair that does not belong together",
                f"{self.archive.label}/{longer}:{count + 1} has no counterpart",
            )
        for side in sides:
            if not side.count:
                found.add("error", f"{side.name} is empty", "put one segment a line into it")


@dataclass
class Segments:
    """What a reader gives; its places are counted, and what stops it is its own error."""

    label: str
    read: Callable[[], Iterator[tuple[str, str]]]

    def place(self, number: int) -> str:
        """Return the number of the pair: in what is no list of lines it has no other place."""
        return f"{self.label}, pair {number}"

    def lines(self, found: Findings) -> Iterator[Line]:
        """Yield the pairs.

        Raises:
            DataError: as the reader.
        """
        count = 0
        for count, (source, target) in enumerate(self.read(), start=1):
            yield Line(source, target, self.place(count))
        if not count:
            found.add("error", "has no segment in the task's languages", "look at its file and its reader's options")


class _Side:
    """The lines of one file, and how many there were."""

    def __init__(self, archive: Archive, name: str, found: Findings) -> None:
        self.name, self.count = name, 0
        self._archive, self._found = archive, found

    def lines(self) -> Iterator[str]:
        rest = b""
        for block in self._archive.blocks(self.name):
            *whole, rest = (rest + block).split(b"\n")
            for raw in [*whole, rest] if len(rest) > LINE_BYTES_MAX else whole:
                # Cut between characters.
                fits = len(raw) <= LINE_BYTES_MAX
                yield self._line(raw if fits else raw[:LINE_BYTES_MAX].decode(errors="ignore").encode())
                if not fits:
                    what = f"a line of more than {LINE_BYTES_MAX:,} bytes; the rest was not looked at"
                    where = f"{self._archive.label}/{self.name}:{self.count}"
                    self._found.add("error", what, "one segment a line", where)
                    return
        if rest:
            yield self._line(rest)

    def _line(self, raw: bytes) -> str:
        self.count += 1
        place = f"{self._archive.label}/{self.name}:{self.count}"
        if raw.startswith(b"\xef\xbb\xbf"):
            raw = raw[3:]
            if self.count > 1:
                what = "a byte order mark within the text"
                self._found.add("warning", what, "files were joined: see whether they still are aligned", place)
        if b"\0" in raw:
            self._found.add("error", "a NUL byte", "convert the file to UTF-8 (it may be UTF-16)", place)
            raw = raw.replace(b"\0", b"")
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError as error:
            byte, guess = raw[error.start], _guess(raw)
            remedy = f"convert the file to UTF-8{guess}"
            self._found.add("error", f"{self.name} is not UTF-8", remedy, f"{place} (byte 0x{byte:02x})")
            return raw.decode("utf-8", errors="replace").replace("\ufffd", "?")


_TWO_CHARACTERS = re.compile(rb"[\x80-\xff]{4}")


def _guess(raw: bytes) -> str:
    """Return in which encoding the line may be, as advice: Chinese ones have no lone byte above ASCII."""
    for encoding in ("gb18030", "big5") if _TWO_CHARACTERS.search(raw) else ("cp1252",):
        try:
            raw.decode(encoding)
        except UnicodeDecodeError:
            continue
        return f", perhaps by `iconv -f {encoding} -t UTF-8`"
    return ""
