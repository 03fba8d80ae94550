"""Write the sentences of a split as one flat array of token ids with offsets, in order."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from mdnmt.fsio import atomic_open
from mdnmt.tasks.segmentation.token_encoder import Encoder, word_table
from mdnmt.tasks.text.pair_text import SIDES, ChunkSelection, Tokenised
from mdnmt.tasks.workers import ParallelMap

_NPY: Any = np.lib.format  # has no types
# One side of a part: token ids, sentence lengths, indices of words, and how often each of these words occurs.
_Encoded = tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]


class ArrayWriter:
    """Writes a one-dimensional array as .npy, piece by piece; its length is written at the end."""

    def __init__(self, handle: IO[bytes], dtype: Any) -> None:
        self._handle, self._dtype, self._count = handle, np.dtype(dtype), 0
        self._write_header()

    def add(self, values: NDArray[Any]) -> None:
        """Append values."""
        self._handle.write(values.astype(self._dtype, copy=False).tobytes())
        self._count += len(values)

    def finish(self) -> None:
        """Write the number of values into the header, which has room for any number."""
        self._handle.seek(0)
        self._write_header()

    def _write_header(self) -> None:
        header = {"descr": self._dtype.str, "fortran_order": False, "shape": (self._count,)}
        _NPY.write_array_header_1_0(self._handle, header)


@contextmanager
def write_array(path: Path, dtype: Any) -> Iterator[ArrayWriter]:
    """Open an array for writing, atomically."""
    with atomic_open(path, "wb") as handle:
        writer = ArrayWriter(handle, dtype)
        yield writer
        writer.finish()


class RaggedWriter:
    """Writes n sentences end to end, each with </s>, and the n + 1 offsets between them."""

    def __init__(self, tokens: ArrayWriter, offsets: ArrayWriter) -> None:
        self._tokens, self._offsets, self._end = tokens, offsets, 0
        offsets.add(np.zeros(1, dtype=np.int64))

    def add(self, ids: NDArray[np.int32], lengths: NDArray[np.int64]) -> None:
        """Append sentences."""
        ends = self._end + np.cumsum(lengths)
        self._tokens.add(ids)
        self._offsets.add(ends)
        self._end = int(ends[-1]) if len(ends) else self._end


@contextmanager
def write_ragged(stem: Path) -> Iterator[RaggedWriter]:
    """Open `<stem>.tokens.npy` and `<stem>.offsets.npy` for writing, atomically."""
    with ExitStack() as stack:
        tokens = stack.enter_context(write_array(stem.with_name(f"{stem.name}.tokens.npy"), np.int32))
        offsets = stack.enter_context(write_array(stem.with_name(f"{stem.name}.offsets.npy"), np.int64))
        yield RaggedWriter(tokens, offsets)


def encode_split(
    folder: Path, split: str, langs: tuple[str, str], tokenised: Tokenised, encoder: Encoder, run: ParallelMap
) -> dict[tuple[str, str], NDArray[np.int64]]:
    """Write a split's arrays, one domain after another, and return how often each word of a table occurs in it.

    Args:
        folder: in which `<split>.<lang>.tokens.npy`, `<split>.<lang>.offsets.npy` and `<split>.domains.npy` are made.
        split: the split.
        langs: source and target language.
        tokenised: the text of all splits.
        encoder: maps words to token ids.
        run: applies a function to jobs, in processes.

    Returns:
        (domain, side) -> counts, in the order of the words of the table.
    """
    domains = [domain for one, domain in tokenised if one == split]
    counts: dict[tuple[str, str], NDArray[np.int64]] = {}
    with ExitStack() as stack:
        arrays = [stack.enter_context(write_ragged(folder / f"{split}.{lang}")) for lang in langs]
        labels = stack.enter_context(write_array(folder / f"{split}.domains.npy", np.int16))
        for number, domain in enumerate(domains):
            text = tokenised[split, domain]
            found = [np.zeros(len(encoder.tables[domain, side].words), dtype=np.int64) for side in SIDES]
            jobs = ((part, encoder.both(domain)) for part in text.parts())
            for both in run(_encode_part, jobs):
                for array, count, (ids, lengths, words, occurrences) in zip(arrays, found, both, strict=True):
                    array.add(ids, lengths)
                    count[words] += occurrences
                labels.add(np.full(len(both[0][1]), number, dtype=np.int16))
            counts |= {(domain, side): count for side, count in zip(SIDES, found, strict=True)}
    return counts


def _encode_part(job: tuple[ChunkSelection, tuple[Path, Path]]) -> list[_Encoded]:
    """Encode both sides of a part of a tokenised text: one job of a worker process."""
    part, folders = job
    encoded = []
    for folder, lines in zip(folders, part.sides(), strict=True):
        table = word_table(folder)
        words = table.indices(lines)
        counts = np.bincount(words[words != table.end])
        found = np.flatnonzero(counts)
        encoded.append((table.pieces(words), table.line_lengths(words), found, counts[found]))
    return encoded
