"""Near-duplicates: training sentences similar to held-out ones, found by MinHash (Broder 1997, datasketch)."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Iterator, Sequence, Set
from functools import lru_cache
from typing import Any

import numpy as np

from mdnmt.tasks.splits.heldout_index import HeldOutSets
from mdnmt.tasks.text.normalisation import comparison_form
from mdnmt.tasks.text.pair_text import ChunkSelection, LineMask, PairText
from mdnmt.tasks.text.reversible import SOUTHEAST_ASIAN
from mdnmt.tasks.text.tokenise import split_characters
from mdnmt.tasks.workers import ParallelMap, in_this_process

_WORD = re.compile(r"\w+")
_UNSPACED = re.compile(f"([{SOUTHEAST_ASIAN}])")
_PERMUTATIONS = 64
_SEED = 1


def words_of(form: str) -> set[str]:
    """Return the set of words of a sentence; without words, the sentence itself.

    In scripts without spaces, each character is a word.
    """
    form = _UNSPACED.sub(r" \1 ", form)
    return set(_WORD.findall(" ".join(split_characters(form)))) or {form}


def similarity(first: Set[str], second: Set[str]) -> float:
    """Return the Jaccard similarity of two sentences: the share of their words that both have."""
    both = len(first & second)
    return both / (len(first) + len(second) - both)


def similar_heldout(
    train: PairText, held: HeldOutSets, side: int, threshold: float, run: ParallelMap = in_this_process
) -> set[str]:
    """Return the comparison forms of a side's held-out sentences to which a training sentence is similar.

    Candidates come from MinHash signatures and locality-sensitive hashing, which miss about 1 in 100 of the sentences
    that are barely similar enough. Each candidate is then compared with the sentence itself, so there are no false
    positives. Sentences are compared after normalisation; the result does not depend on their order.

    Args:
        train: the training text.
        held: the held-out sets.
        side: 0: the sources, 1: the targets.
        threshold: the smallest similarity that counts.
        run: applies a function to jobs, in processes.
    """
    found: set[int] = set()
    for numbers in run(_search, ((part, held, side, threshold) for part in train.parts())):
        found.update(numbers)
    known = _forms(held, side)
    return {known[number] for number in found}


def lines_like_heldout(job: tuple[ChunkSelection, HeldOutSets, float]) -> LineMask:
    """Return, for each line, whether its source or target is similar to a held-out one: one job of a worker process.

    Candidates are found as in `similar_heldout`, so about 1 in 100 of the barely similar lines is missed.
    """
    part, held, threshold = job
    pairs = part.pairs()
    found = np.zeros(len(pairs), dtype=np.bool_)
    for side in range(2):
        words = [words_of(comparison_form(pair[side])) for pair in pairs]
        found |= np.array([bool(numbers) for numbers in _similar(words, held, side, threshold)], dtype=np.bool_)
    return found


def _search(job: tuple[ChunkSelection, HeldOutSets, int, float]) -> list[int]:
    """Return the numbers of the held-out sentences that a sentence of a part resembles: one job of a worker process."""
    part, held, side, threshold = job
    words = [words_of(form) for form in sorted({comparison_form(pair[side]) for pair in part.pairs()})]
    return sorted(set().union(*_similar(words, held, side, threshold)))


def _similar(sentences: Sequence[Set[str]], held: HeldOutSets, side: int, threshold: float) -> Iterator[set[int]]:
    """Yield, for each sentence, the numbers of the held-out ones that it resembles."""
    index, known = _index(held, side, threshold)
    for words, signature in zip(sentences, _signatures(sentences), strict=True):
        yield {number for number in index.query(signature) if similarity(words, known[number]) >= threshold}


def _forms(held: HeldOutSets, side: int) -> list[str]:
    """Return the sorted distinct comparison forms of a side's held-out sentences."""
    return sorted({pair[2 + side] for pairs in held.pairs() for pair in pairs})


@lru_cache(maxsize=2)  # one per side
def _index(held: HeldOutSets, side: int, threshold: float) -> tuple[Any, list[set[str]]]:
    from datasketch import MinHashLSH

    words = [words_of(sentence) for sentence in _forms(held, side)]
    # Weighted against misses: false candidates are compared with the sentence itself anyway.
    index = MinHashLSH(threshold=threshold, num_perm=_PERMUTATIONS, weights=(0.01, 0.99))
    for number, signature in enumerate(_signatures(words)):
        index.insert(number, signature)
    return index, words


def _signatures(sentences: Iterable[Set[str]]) -> Any:
    from datasketch import MinHash

    encoded = ([word.encode("utf-8") for word in words] for words in sentences)
    # A cheap hash that is the same on every machine; the permutations mix its 32 bits.
    return MinHash.generator(encoded, num_perm=_PERMUTATIONS, seed=_SEED, hashfunc=zlib.crc32)
