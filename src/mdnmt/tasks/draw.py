"""Draw sentences by a hash: a pair's place depends on the seed, the domain and the pair, and on no other pair.

So the draw depends neither on the order of the corpus nor on any generator, and a pair that is added or removed moves
no other. Equal pairs are told apart by how many stand before them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from mdnmt.tasks.pair_text import PairText, Part
from mdnmt.tasks.repeats import Repeats
from mdnmt.tasks.workers import Map

_KEY = np.dtype("S32")
_SORTED_TOGETHER = 10_000
Keys = NDArray[np.bytes_]
Numbers = NDArray[np.int64]


def draw_keys(job: tuple[Part, NDArray[np.uint32] | None, str]) -> Keys:
    """Return the keys of (lines, equal ones before each, seed and domain), as bytes: one job of a worker process."""
    part, before, start = job
    prefix = start.encode() + b"\0"
    texts = [prefix + line.replace(b"\t", b"\0") for line in part.lines()]
    if before is not None:
        for place in np.flatnonzero(before):
            texts[place] += b"\0%d" % before[place]
    return np.frombuffer(b"".join(hashlib.sha256(text).digest() for text in texts), dtype=_KEY)


def first_drawn(text: PairText, repeats: Repeats | None, count: int, seed: int, domain: str, run: Map) -> Numbers:
    """Return the numbers of the lines that are drawn first, in the order of the draw.

    Args:
        text: from which is drawn.
        repeats: of its lines; None: no two are equal.
        count: how many are wanted; fewer come where there are fewer.
        seed: of the draw.
        domain: of the text.
        run: applies a function to jobs, in processes.
    """
    before = None if repeats is None else repeats.numbers(text.kept)
    parts = text.parts()
    jobs = (
        (part, None if before is None else before[part.first :][: part.chunk.lines][part.kept], f"{seed}\0{domain}")
        for part in text.parts()
    )
    return smallest(((part.numbers(), keys) for part, keys in zip(parts, run(draw_keys, jobs), strict=True)), count)


def smallest(found: Iterable[tuple[Numbers, Keys]], count: int) -> Numbers:
    """Return the numbers of the `count` smallest keys, in their order; never many more are held at once."""
    numbers, keys, bound = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=_KEY), None
    waiting: list[tuple[Numbers, Keys]] = []

    def cut() -> tuple[Numbers, Keys]:
        all_numbers = np.concatenate([numbers, *(some for some, _ in waiting)])
        all_keys = np.concatenate([keys, *(some for _, some in waiting)])
        waiting.clear()
        order = np.argsort(all_keys, kind="stable")[:count]
        return all_numbers[order], all_keys[order]

    for some_numbers, some_keys in found:
        below = slice(None) if bound is None else np.less_equal(some_keys, bound)
        waiting.append((some_numbers[below], some_keys[below]))
        if len(keys) + sum(len(some) for _, some in waiting) >= 2 * count + _SORTED_TOGETHER:
            numbers, keys = cut()
            bound = keys[-1:] if len(keys) == count else None  # an array: a single key loses zeros at its end
    return cut()[0]
