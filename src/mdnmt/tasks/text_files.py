"""Write the plain text of a task, a file a side, and take the identity of each split on the way."""

from __future__ import annotations

from pathlib import Path

from mdnmt import fsio
from mdnmt.tasks.identity import Identity, line_digests
from mdnmt.tasks.pair_text import PairText, Part
from mdnmt.tasks.repeats import Digests
from mdnmt.tasks.workers import Map


def write_sides(text: PairText, paths: tuple[Path, Path], scratch: Path, run: Map) -> str:
    """Write a text's sources and targets, a line each, and return its identity.

    Args:
        text: the pairs.
        paths: the files of the two sides.
        scratch: a folder for hashes.
        run: applies a function to jobs, in processes.
    """
    identity = Identity(scratch)
    with fsio.atomic_open(paths[0], "wb") as sources, fsio.atomic_open(paths[1], "wb") as targets:
        for source, target, digests in run(_sides, text.parts()):
            sources.write(source)
            targets.write(target)
            identity.add(digests)
    return identity.hexadecimal()


def _sides(part: Part) -> tuple[bytes, bytes, Digests]:
    """Return the lines of both sides and the hashes of the pairs: one job of a worker process."""
    lines = part.lines()
    halves = [line.partition(b"\t") for line in lines]
    source, target = (b"".join(b"%s\n" % half[place] for half in halves) for place in (0, 2))
    return source, target, line_digests(lines)
