"""The identity of a split: a hash that says whether two tasks hold the same sentences, in whatever order."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np

from mdnmt.tasks.buckets import Buckets
from mdnmt.tasks.repeats import Digests

_DIGEST = np.dtype("S32")


class Identity:
    """The hash of the sorted hashes of sentences that come in any order."""

    def __init__(self, folder: Path) -> None:
        self._digests = Buckets(folder, _DIGEST)

    def add(self, digests: Digests) -> None:
        """Take the hashes of sentences."""
        self._digests.add(digests)

    def hexadecimal(self) -> str:
        """Return the 16 hexadecimal digits of the sentences."""
        found = hashlib.sha256()
        for digests in self._digests:  # group by group is in order: a group has one first byte, or is all of them
            found.update(np.sort(digests).tobytes())
        self._digests.remove()
        return found.hexdigest()[:16]


def line_digests(lines: list[bytes]) -> Digests:
    """Return the hashes of pairs, each a line of source, tab and target."""
    return np.frombuffer(b"".join(hashlib.sha256(line).digest() for line in lines), dtype=_DIGEST)
