"""Look up sentences in the held-out sets of a task, from any worker process."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mdnmt.tasks.text.clean import Pair, as_pair
from mdnmt.tasks.text.pair_text import Chunk, ChunkSelection, LineMask, PairText

# Matches counted for each set: sentences with the same source, target or both in comparison form; the same for the
# exact text; and sentences with the same source or target.
MATCHES = ("source", "target", "pair", "exact source", "exact target", "exact pair", "either")
Key = tuple[str, str]  # domain and split
_NOWHERE: frozenset[int] = frozenset()


class HeldOutSets(NamedTuple):
    """Held-out sets on disk: small enough to send with every job; each process reads the text once."""

    keys: tuple[Key, ...]
    chunks: tuple[tuple[Chunk, ...], ...]
    kept: tuple[bytes, ...]

    @classmethod
    def of(cls, texts: Mapping[Key, PairText]) -> HeldOutSets:
        """Return the sets with these texts."""
        return cls(
            tuple(texts),
            tuple(text.chunks for text in texts.values()),
            tuple(text.kept.tobytes() for text in texts.values()),
        )

    def pairs(self) -> list[list[Pair]]:
        """Return the pairs of each set."""
        texts = (
            PairText(chunks, np.frombuffer(kept, dtype=np.bool_))
            for chunks, kept in zip(self.chunks, self.kept, strict=True)
        )
        return [[as_pair(*pair) for pair in text] for text in texts]


class HeldOutIndex:
    """An index from held-out sentences to the numbers of the sets that contain them."""

    def __init__(self, sets: Iterable[Iterable[Pair]]) -> None:
        self._known: tuple[dict[Hashable, frozenset[int]], ...] = tuple({} for _ in range(6))
        for number, pairs in enumerate(sets):
            for pair in pairs:
                for known, value in zip(self._known, _compared(pair), strict=True):
                    known[value] = known.get(value, _NOWHERE) | {number}

    def holds(self, pair: Pair) -> bool:
        """Say whether the source or the target of a pair is held out."""
        return pair.source_form in self._known[0] or pair.target_form in self._known[1]

    def count(self, pair: Pair, counts: NDArray[np.int64]) -> None:
        """Add the matches of a pair to `counts` [sets, MATCHES]."""
        found = [known.get(value, _NOWHERE) for known, value in zip(self._known, _compared(pair), strict=True)]
        for column, numbers in enumerate([*found, found[0] | found[1]]):
            for number in numbers:
                counts[number, column] += 1


def _compared(pair: Pair) -> tuple[Hashable, ...]:
    return pair.source_form, pair.target_form, pair.forms, pair.source, pair.target, pair[:2]


@lru_cache(maxsize=1)
def _index(sets: HeldOutSets) -> HeldOutIndex:
    return HeldOutIndex(sets.pairs())


def leaking_lines(job: tuple[ChunkSelection, HeldOutSets]) -> LineMask:
    """Return, for each line, whether its source or target is held out in any set: one job of a worker process."""
    part, sets = job
    index = _index(sets)
    return np.array([index.holds(as_pair(*pair)) for pair in part.pairs()], dtype=np.bool_)


def count_matches(job: tuple[ChunkSelection, LineMask, HeldOutSets]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Count a part's matches in each set, for all lines and for those in the training text: one job of a process."""
    part, trained, sets = job
    index = _index(sets)
    before, after = (np.zeros((len(sets.keys), len(MATCHES)), dtype=np.int64) for _ in range(2))
    for segments, is_trained in zip(part.pairs(), trained[part.kept].tolist(), strict=True):
        pair = as_pair(*segments)
        if index.holds(pair):
            index.count(pair, before)
            if is_trained:
                index.count(pair, after)
    return before, after
