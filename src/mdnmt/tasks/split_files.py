"""Write each split as plain text, one file per side, and hash its sentences on the way."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np

from mdnmt import fsio
from mdnmt.tasks.text.duplicates import DigestBuckets, Digests
from mdnmt.tasks.text.pair_text import ChunkSelection, PairText
from mdnmt.tasks.workers import ParallelMap

_DIGEST = np.dtype("S32")


class TextIdentity:
    """A hash over the sorted hashes of sentences, so that their order does not matter."""

    def __init__(self, folder: Path) -> None:
        self._digests = DigestBuckets(folder, _DIGEST)

    def add(self, digests: Digests) -> None:
        """Add the hashes of sentences."""
        self._digests.add(digests)

    def hexadecimal(self) -> str:
        """Return the 16 hexadecimal digits that identify the sentences."""
        found = hashlib.sha256()
        for digests in self._digests:  # groups come in sorted order: each has one first byte, or there is only one
            found.update(np.sort(digests).tobytes())
        self._digests.remove()
        return found.hexdigest()[:16]


def line_digests(lines: list[bytes]) -> Digests:
    """Return the hashes of pairs, each a line of source, tab and target."""
    return np.frombuffer(b"".join(hashlib.sha256(line).digest() for line in lines), dtype=_DIGEST)


def write_sides(text: PairText, paths: tuple[Path, Path], scratch: Path, run: ParallelMap) -> str:
    """Write the sources and targets of a text, one per line, and return its identity.

    Args:
        text: the pairs.
        paths: the files of the two sides.
        scratch: a folder for hashes.
        run: applies a function to jobs, in processes.
    """
    identity = TextIdentity(scratch)
    with fsio.atomic_open(paths[0], "wb") as sources, fsio.atomic_open(paths[1], "wb") as targets:
        for source, target, digests in run(_sides, text.parts()):
            sources.write(source)
            targets.write(target)
            identity.add(digests)
    return identity.hexadecimal()


def _sides(part: ChunkSelection) -> tuple[bytes, bytes, Digests]:
    """Return the lines of both sides and the hashes of the pairs: one job of a worker process."""
    halves = part.halves()
    source, target = (b"".join(b"%s\n" % line for line in half) for half in halves)
    return source, target, line_digests([b"%s\t%s" % pair for pair in zip(*halves, strict=True)])
