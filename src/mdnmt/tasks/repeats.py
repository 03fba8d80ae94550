"""Which pairs of a text occur in it before: found by digests of 128 bits, of which no two are equal by chance."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mdnmt.tasks.buckets import Buckets
from mdnmt.tasks.pair_text import Kept, Segments

# Of a thousand million pairs, two different ones have the same digest with a chance of 1 in 10 to the power of 21.
DIGEST_BYTES = 16
_RECORD = np.dtype([("digest", f"S{DIGEST_BYTES}"), ("line", "<i8")])
Digests = NDArray[np.bytes_]


def pair_digests(pairs: Iterable[Segments]) -> Digests:
    """Return a digest of each pair."""
    texts = ("\t".join(pair).encode() for pair in pairs)
    raw = b"".join(hashlib.blake2b(text, digest_size=DIGEST_BYTES).digest() for text in texts)
    return np.frombuffer(raw, dtype=f"S{DIGEST_BYTES}")


class Repeats:
    """The digests of all lines of a text."""

    def __init__(self, folder: Path) -> None:
        self._buckets, self._lines = Buckets(folder, _RECORD), 0

    def add(self, digests: Digests) -> None:
        """Take the digests of the next lines."""
        records = np.empty(len(digests), dtype=_RECORD)
        records["digest"] = digests
        records["line"] = np.arange(self._lines, self._lines + len(digests))
        self._lines += len(digests)
        self._buckets.add(records)

    def first(self) -> Kept:
        """Say of each line whether it is the first of its kind."""
        found = np.zeros(self._lines, dtype=np.bool_)
        for records in self._buckets:
            _, places = np.unique(records["digest"], return_index=True)  # of equal ones the first
            found[records["line"][places]] = True
        return found

    def numbers(self, kept: Kept) -> NDArray[np.uint32]:
        """Return how many equal lines stand before each, those counted that are `kept`; 0 for the others."""
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
        """Forget the digests."""
        self._buckets.remove()
