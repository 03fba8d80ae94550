"""Near-duplicates: training sentences that are almost held-out ones, by MinHash (Broder 1997) through datasketch."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Sequence, Set
from functools import lru_cache
from typing import Any

from mdnmt.tasks.cjk import split_characters
from mdnmt.tasks.workers import Map, in_this_process

_WORD = re.compile(r"\w+")
_PERMUTATIONS = 64
_SEED = 1
_LINES_PER_JOB = 2000


def words_of(form: str) -> set[str]:
    """Return the different words of a sentence, CJK characters each for itself; without any, the sentence itself."""
    return set(_WORD.findall(" ".join(split_characters(form)))) or {form}


def similarity(first: Set[str], second: Set[str]) -> float:
    """Return the Jaccard similarity of two sentences: the share of their words that both have."""
    both = len(first & second)
    return both / (len(first) + len(second) - both)


def near_duplicates(
    train: Iterable[str], held: Iterable[str], threshold: float, run: Map = in_this_process
) -> dict[str, set[str]]:
    """Return held-out sentence -> the training sentences that are at least as similar to it as `threshold`.

    Candidates come from MinHash signatures and locality-sensitive hashing: of those that are barely similar enough
    about 1 in 100 is missed. Each is then held against the sentence itself, so none is too much. Sentences are given
    in the form by which they are compared; the result does not depend on their order.
    """
    known = tuple(sorted(set(held)))
    sentences = sorted(set(train))
    jobs = [
        (sentences[start : start + _LINES_PER_JOB], known, threshold)
        for start in range(0, len(sentences), _LINES_PER_JOB)
    ]
    found: dict[str, set[str]] = {}
    for pairs in run(_search, jobs):
        for sentence, match in pairs:
            found.setdefault(match, set()).add(sentence)
    return found


def _search(job: tuple[Sequence[str], tuple[str, ...], float]) -> list[tuple[str, str]]:
    """Return (training sentence, held-out one) of those that are similar enough: one job of a worker process."""
    sentences, known, threshold = job
    index, words_known = _index(known, threshold)
    words = [words_of(sentence) for sentence in sentences]
    return [
        (sentence, known[number])
        for sentence, own, signature in zip(sentences, words, _signatures(words), strict=True)
        for number in sorted(index.query(signature))
        if similarity(own, words_known[number]) >= threshold
    ]


@lru_cache(maxsize=1)
def _index(known: tuple[str, ...], threshold: float) -> tuple[Any, list[set[str]]]:
    from datasketch import MinHashLSH

    words = [words_of(sentence) for sentence in known]
    # Weighted for what is missed: what is found too much is held against the sentence itself anyway.
    index = MinHashLSH(threshold=threshold, num_perm=_PERMUTATIONS, weights=(0.01, 0.99))
    for number, signature in enumerate(_signatures(words)):
        index.insert(number, signature)
    return index, words


def _signatures(sentences: Iterable[Set[str]]) -> Any:
    from datasketch import MinHash

    encoded = ([word.encode("utf-8") for word in words] for words in sentences)
    # A hash that is cheap and the same everywhere; its 32 bits are mixed by the permutations.
    return MinHash.generator(encoded, num_perm=_PERMUTATIONS, seed=_SEED, hashfunc=zlib.crc32)
