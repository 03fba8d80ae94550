"""Sentence pairs on disk, in two files aligned by line, which any process can read chunk by chunk.

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

SIDES = ("source", "target")
Segments = tuple[str, str]
LineMask = NDArray[np.bool_]
LINES_PER_CHUNK = 2000  # how much text a process takes at a time; it does not change the result
# Raw text may contain lone surrogates; normalisation removes them.
_ERRORS = "surrogatepass"


Block = tuple[bytes, bytes]  # whole lines of both files


class Chunk(NamedTuple):
    """Part of the two files of a text: `lines` lines in `sizes` bytes from `starts`."""

    paths: tuple[Path, Path]
    starts: tuple[int, int]
    sizes: tuple[int, int]
    lines: int


class ChunkSelection(NamedTuple):
    """A chunk of a text and which of its lines are selected; worker processes get this instead of the text."""

    chunk: Chunk
    kept: LineMask
    first: int  # number of the chunk's first line in the text, counted from 0

    def numbers(self) -> NDArray[np.int64]:
        """Return the numbers of the selected lines in the text."""
        return np.flatnonzero(self.kept) + self.first

    def halves(self) -> tuple[list[bytes], list[bytes]]:
        """Return the selected lines of both files, without line ends."""
        everything, kept = self.kept.all(), self.kept.tolist()
        found = []
        for path, start, size in zip(*self.chunk[:3], strict=True):
            with path.open("rb") as handle:
                handle.seek(start)
                lines = handle.read(size).split(b"\n")[:-1]
            found.append(lines if everything else list(compress(lines, kept)))
        return found[0], found[1]

    def lines(self) -> list[bytes]:
        """Return the selected pairs, each as one line with a tab between the sides."""
        return [b"%s\t%s" % pair for pair in zip(*self.halves(), strict=True)]

    def sides(self) -> tuple[list[str], list[str]]:
        """Return the selected sources and targets."""
        sources, targets = (b"\n".join(lines).decode("utf-8", _ERRORS).split("\n") for lines in self.halves())
        return (sources, targets) if self.kept.any() else ([], [])

    def pairs(self) -> list[Segments]:
        """Return the selected pairs."""
        return list(zip(*self.sides(), strict=True))


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

    def __init__(self, paths: tuple[Path, Path], handles: tuple[IO[bytes], IO[bytes]]) -> None:
        self._paths, self._handles = paths, handles
        self._chunks: list[Chunk] = []

    def add(self, block: Block, lines: int) -> None:
        """Write whole lines."""
        if not lines:
            return
        for handle, half in zip(self._handles, block, strict=True):
            handle.write(half)
        last = self._chunks[-1] if self._chunks else Chunk(self._paths, (0, 0), (0, 0), 0)
        sizes = len(block[0]), len(block[1])
        if self._chunks and last.lines + lines <= LINES_PER_CHUNK:
            self._chunks[-1] = last._replace(sizes=_plus(last.sizes, sizes), lines=last.lines + lines)
        else:
            self._chunks.append(Chunk(self._paths, _plus(last.starts, last.sizes), sizes, lines))

    def add_pairs(self, pairs: Iterable[Segments]) -> None:
        """Write pairs; line breaks and tabs within a segment become spaces, as normalisation would make them anyway."""
        left = iter(pairs)
        while some := list(islice(left, LINES_PER_CHUNK)):
            self.add(block_of(some), len(some))

    def text(self) -> PairText:
        """Return what was written, once the files are closed."""
        return PairText.of(self._chunks)


def _plus(one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
    return one[0] + other[0], one[1] + other[1]


def block_of(pairs: Iterable[Segments]) -> Block:
    """Return the lines of pairs."""
    sources, targets = zip(*pairs, strict=True) if (pairs := list(pairs)) else ((), ())
    return _lines(sources), _lines(targets)


def _lines(segments: Iterable[str]) -> bytes:
    plain = (segment.replace("\t", " ").replace("\n", " ") for segment in segments)
    return "".join(f"{segment}\n" for segment in plain).encode("utf-8", _ERRORS)


def side_paths(stem: Path, ends: tuple[str, str] = SIDES) -> tuple[Path, Path]:
    """Return the two files of a text: `<stem>.source` and `<stem>.target`, or with other ends."""
    return stem.with_name(f"{stem.name}.{ends[0]}"), stem.with_name(f"{stem.name}.{ends[1]}")


Tokenised = dict[tuple[str, str], PairText]  # (split, domain) -> pairs of lines, with tokens separated by spaces


@contextmanager
def write_pairs(stem: Path, ends: tuple[str, str] = SIDES) -> Iterator[PairWriter]:
    """Open the two files of a text, in a temporary folder: they are not written atomically."""
    stem.parent.mkdir(parents=True, exist_ok=True)
    paths = side_paths(stem, ends)
    with paths[0].open("wb") as sources, paths[1].open("wb") as targets:
        yield PairWriter(paths, (sources, targets))


def save_pairs(stem: Path, pairs: Iterable[Segments]) -> PairText:
    """Write pairs to the two files of a text and return it."""
    with write_pairs(stem) as writer:
        writer.add_pairs(pairs)
    return writer.text()


def open_pairs(stem: Path, ends: tuple[str, str]) -> PairText:
    """Return a text that is on disk: every line of two files with as many lines.

    Raises:
        ValueError: one file has more lines.
    """
    paths, starts = side_paths(stem, ends), (0, 0)
    chunks = []
    with paths[0].open("rb") as sources, paths[1].open("rb") as targets:
        while some := list(islice(zip(sources, targets, strict=True), LINES_PER_CHUNK)):
            sizes = sum(len(source) for source, _ in some), sum(len(target) for _, target in some)
            chunks.append(Chunk(paths, starts, sizes, len(some)))
            starts = _plus(starts, sizes)
    return PairText.of(chunks)
