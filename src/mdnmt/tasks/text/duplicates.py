"""Find duplicate sentence pairs by 128-bit digests, which are stored on disk if there are many."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mdnmt import fsio
from mdnmt.tasks.text.pair_text import LineMask, Segments

_IN_MEMORY = 1 << 16
_BUCKETS = 256


class DigestBuckets:
    """Records that begin with a digest, grouped by its first byte.

    Equal records are in one group, in the order in which they were added. Digests are uniform, so the groups have
    about the same size: 4,000 records each for a million.
    """

    def __init__(self, folder: Path, dtype: np.dtype[Any], in_memory: int = _IN_MEMORY) -> None:
        self._folder, self._dtype, self._limit = folder, dtype, in_memory
        self._waiting: list[NDArray[Any]] = []
        self._count = 0
        self._spilled = False

    def add(self, records: NDArray[Any]) -> None:
        """Add records."""
        self._waiting.append(records)
        self._count += len(records)
        if self._count > self._limit:
            self._spill()

    def __iter__(self) -> Iterator[NDArray[Any]]:
        """Yield the records group by group; a small number of records is one group."""
        if not self._spilled:
            yield self._taken()
            return
        self._spill()
        for number in range(_BUCKETS):
            path = self._path(number)
            if path.is_file():
                yield np.fromfile(path, dtype=self._dtype)

    def remove(self) -> None:
        """Remove all records."""
        self._waiting, self._count = [], 0
        if self._spilled:
            fsio.remove_tree(self._folder)
            self._spilled = False

    def _taken(self) -> NDArray[Any]:
        self._waiting = [np.concatenate([np.zeros(0, dtype=self._dtype), *self._waiting])]
        return self._waiting[0]

    def _spill(self) -> None:
        records = self._taken()
        self._waiting, self._count, self._spilled = [], 0, True
        if not len(records):
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        first = records.view(np.uint8).reshape(len(records), -1)[:, 0]
        records = records[np.argsort(first, kind="stable")]
        ends = np.cumsum(np.bincount(first, minlength=_BUCKETS))
        for number, group in enumerate(np.split(records, ends[:-1])):
            if len(group):
                with self._path(number).open("ab") as handle:
                    handle.write(group.tobytes())

    def _path(self, number: int) -> Path:
        return self._folder / f"{number:03d}"


# Among 10^9 pairs, two different ones share a digest with a probability of about 10^-21.
DIGEST_BYTES = 16
_RECORD = np.dtype([("digest", f"S{DIGEST_BYTES}"), ("line", "<i8")])
Digests = NDArray[np.bytes_]


def pair_digests(pairs: Iterable[Segments]) -> Digests:
    """Return a digest of each pair."""
    texts = ("\t".join(pair).encode() for pair in pairs)
    raw = b"".join(hashlib.blake2b(text, digest_size=DIGEST_BYTES).digest() for text in texts)
    return np.frombuffer(raw, dtype=f"S{DIGEST_BYTES}")


class DuplicateIndex:
    """Which lines of a text are equal, found by their digests."""

    def __init__(self, folder: Path) -> None:
        self._buckets, self._lines = DigestBuckets(folder, _RECORD), 0

    def add(self, digests: Digests) -> None:
        """Add the digests of the next lines."""
        records = np.empty(len(digests), dtype=_RECORD)
        records["digest"] = digests
        records["line"] = np.arange(self._lines, self._lines + len(digests))
        self._lines += len(digests)
        self._buckets.add(records)

    def first(self) -> LineMask:
        """Return for each line whether no equal line comes before it."""
        found = np.zeros(self._lines, dtype=np.bool_)
        for records in self._buckets:
            _, places = np.unique(records["digest"], return_index=True)  # the first of equal ones
            found[records["line"][places]] = True
        return found

    def numbers(self, kept: LineMask) -> NDArray[np.uint32]:
        """Return for each kept line how many equal kept lines come before it, and 0 for the others."""
        found = np.zeros(self._lines, dtype=np.uint32)
        for group in self._buckets:
            records = group[kept[group["line"]]]
            order = np.argsort(records["digest"], kind="stable")
            digests = records["digest"][order]
            starts = np.flatnonzero(np.r_[True, digests[1:] != digests[:-1]][: len(digests)])
            before = np.arange(len(digests)) - np.repeat(starts, np.diff(np.r_[starts, len(digests)]))
            found[records["line"][order]] = before
        return found

    def remove(self) -> None:
        """Remove the digests."""
        self._buckets.remove()
