"""Sentence pairs on disk, one per line with a tab between the sides, which any process can read chunk by chunk.

The text of a task is never loaded into memory; only one byte per line is: whether the line is kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import compress, islice
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np
from numpy.typing import NDArray

Segments = tuple[str, str]
LineMask = NDArray[np.bool_]
LINES_PER_CHUNK = 2000
# Raw text may contain lone surrogates; normalisation removes them.
_ERRORS = "surrogatepass"


class Chunk(NamedTuple):
    """Part of a file: `lines` lines in `size` bytes from `start`."""

    path: Path
    start: int
    size: int
    lines: int


class ChunkSelection(NamedTuple):
    """A chunk of a text and which of its lines are selected; worker processes get this instead of the text."""

    chunk: Chunk
    kept: LineMask
    first: int  # number of the chunk's first line in the text, counted from 0

    def numbers(self) -> NDArray[np.int64]:
        """Return the numbers of the selected lines in the text."""
        return np.flatnonzero(self.kept) + self.first

    def lines(self) -> list[bytes]:
        """Return the selected lines, without line ends."""
        with self.chunk.path.open("rb") as handle:
            handle.seek(self.chunk.start)
            lines = handle.read(self.chunk.size).split(b"\n")[:-1]
        return lines if self.kept.all() else list(compress(lines, self.kept.tolist()))

    def pairs(self) -> list[Segments]:
        """Return the selected pairs."""
        lines = self.lines()
        if not lines:
            return []
        halves = (line.partition("\t") for line in b"\n".join(lines).decode("utf-8", _ERRORS).split("\n"))
        return [(source, target) for source, _, target in halves]

    def sides(self) -> tuple[list[str], list[str]]:
        """Return the selected sources and targets."""
        pairs = self.pairs()
        return [source for source, _ in pairs], [target for _, target in pairs]


@dataclass(frozen=True)
class PairText:
    """Lines of chunks, of which some are kept."""

    chunks: tuple[Chunk, ...]
    kept: LineMask  # of every line of the chunks

    @classmethod
    def of(cls, chunks: Iterable[Chunk]) -> PairText:
        """Return the text of all lines of chunks."""
        chunks = tuple(chunks)
        return cls(chunks, np.ones(sum(chunk.lines for chunk in chunks), dtype=np.bool_))

    def __len__(self) -> int:
        return int(self.kept.sum())

    def __iter__(self) -> Iterator[Segments]:
        return (pair for part in self.parts() for pair in part.pairs())

    def parts(self) -> Iterator[ChunkSelection]:
        """Yield the chunks that have kept lines."""
        first = 0
        for chunk in self.chunks:
            kept = self.kept[first : first + chunk.lines]
            if kept.any():
                yield ChunkSelection(chunk, kept, first)
            first += chunk.lines

    def only(self, kept: LineMask) -> PairText:
        """Return the lines that are kept here and in `kept`, a mask over all lines."""
        return PairText(self.chunks, self.kept & kept)

    def without(self, numbers: NDArray[np.int64]) -> PairText:
        """Return the text without the lines of those numbers."""
        kept = self.kept.copy()
        kept[numbers] = False
        return PairText(self.chunks, kept)

    def select(self, flags: Iterable[LineMask]) -> PairText:
        """Return the text with the lines selected by `flags`, which have one element per kept line, part by part."""
        kept = self.kept.copy()
        kept[kept] = np.concatenate([np.zeros(0, dtype=np.bool_), *flags])
        return PairText(self.chunks, kept)

    def take(self, numbers: NDArray[np.int64]) -> list[Segments]:
        """Return the pairs of a few lines (they are loaded into memory), in the order of the text."""
        wanted = np.zeros(len(self.kept), dtype=np.bool_)
        wanted[numbers] = True
        return list(self.only(wanted))


class PairWriter:
    """Writes lines end to end; small blocks become one chunk."""

    def __init__(self, path: Path, handle: IO[bytes], lines_per_chunk: int) -> None:
        self._path, self._handle, self._limit = path, handle, lines_per_chunk
        self._chunks: list[Chunk] = []

    def add(self, block: bytes, lines: int) -> None:
        """Write whole lines."""
        if not lines:
            return
        self._handle.write(block)
        last = self._chunks[-1] if self._chunks else Chunk(self._path, 0, 0, 0)
        if self._chunks and last.lines + lines <= self._limit:
            self._chunks[-1] = last._replace(size=last.size + len(block), lines=last.lines + lines)
        else:
            self._chunks.append(Chunk(self._path, last.start + last.size, len(block), lines))

    def add_pairs(self, pairs: Iterable[Segments]) -> None:
        """Write pairs; line breaks and tabs within a segment become spaces, as normalisation would make them anyway."""
        left = iter(pairs)
        while some := list(islice(left, self._limit)):
            self.add(block_of(some), len(some))

    def text(self) -> PairText:
        """Return what was written, once the file is closed."""
        return PairText.of(self._chunks)


def block_of(pairs: Iterable[Segments]) -> bytes:
    """Return the lines of pairs."""
    return "".join(f"{_plain(source)}\t{_plain(target)}\n" for source, target in pairs).encode("utf-8", _ERRORS)


def _plain(segment: str) -> str:
    return segment.replace("\t", " ").replace("\n", " ")


@contextmanager
def write_pairs(path: Path, lines_per_chunk: int = LINES_PER_CHUNK) -> Iterator[PairWriter]:
    """Open a temporary file for pairs; it is used only while a task is made, so it is not written atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as handle:
        yield PairWriter(path, handle, lines_per_chunk)


def save_pairs(path: Path, pairs: Iterable[Segments], lines_per_chunk: int = LINES_PER_CHUNK) -> PairText:
    """Write pairs to a file and return them as a text."""
    with write_pairs(path, lines_per_chunk) as writer:
        writer.add_pairs(pairs)
    return writer.text()
