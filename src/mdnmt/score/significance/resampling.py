"""Bootstrap resampling and approximate randomisation, with the same random draws as sacreBLEU.

All systems and metrics of a test set share the draws, so the scores of a whole table come from matrix products of
[draws, sentences] and [sentences, counts]. A larger number of draws begins with the same draws as a smaller one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from mdnmt.score.significance.sentence_statistics import Array, SentenceCounts

SEED = 12345  # sacreBLEU's default
BLOCK = 1024  # draws per block; a multiple of 32, because numpy takes 32 booleans from one random integer


def bootstrap_scores(systems: Sequence[SentenceCounts], num_resamples: int) -> Array:
    """Return the scores [R, systems] on resampled test sets (Koehn 2004), the same sentences for each system."""
    sums = _Sums(systems)
    # sacreBLEU sums integer statistics in float32, so the scores are computed from float32 sums too.
    kinds = [np.float64 if system.counts_NC.dtype.kind == "f" else np.float32 for system in systems]
    scores_RS = np.empty((num_resamples, len(systems)))
    for rows, weights_RN in _resamples(len(systems[0].counts_NC), num_resamples):
        for place, (system, kind, sums_RC) in enumerate(zip(systems, kinds, sums.of(weights_RN), strict=True)):
            scores_RS[rows, place] = system.score(sums_RC.astype(kind))
    return scores_RS


def randomised_differences(pairs: Sequence[tuple[SentenceCounts, SentenceCounts]], num_trials: int) -> Array:
    """Return the absolute differences [R, pairs] after each sentence of two systems is swapped by the toss of a coin.

    Approximate randomisation: Noreen 1989; Riezler and Maxwell 2005.
    """
    moved = [SentenceCounts(first.counts_NC - second.counts_NC, first.score) for first, second in pairs]
    sums = _Sums(moved)
    totals = [(first.counts_NC.sum(axis=0), second.counts_NC.sum(axis=0)) for first, second in pairs]
    found_RP = np.empty((num_trials, len(pairs)))
    for rows, tosses_RN in _tosses(len(pairs[0][0].counts_NC), num_trials):
        for place, (pair, (first_C, second_C), sums_RC) in enumerate(
            zip(moved, totals, sums.of(tosses_RN), strict=True)
        ):
            sums_RC = sums_RC.astype(np.float64)
            one_R, other_R = pair.score(second_C + sums_RC), pair.score(first_C - sums_RC)
            found_RP[rows, place] = np.abs(one_R - other_R)
    return found_RP


class _Sums:
    """Sums the counts of all systems over drawn sentences, by one matrix product per precision."""

    def __init__(self, systems: Sequence[SentenceCounts]) -> None:
        self._kinds = [_exact_kind(system.counts_NC) for system in systems]
        self._widths = [system.counts_NC.shape[1] for system in systems]
        self._counts = {
            kind: np.vstack([s.counts_NC.T for s, own in zip(systems, self._kinds, strict=True) if own == kind]).astype(
                kind
            )
            for kind in set(self._kinds)
        }

    def of(self, weights_RN: Array) -> Iterator[Array]:
        """Yield the sums [R, C] of each system; the weights of the sentences are integers that add up to N at most."""
        # One row per count, so that the values of one count over all draws are contiguous in memory.
        sums = {kind: counts_CN @ weights_RN.astype(kind, copy=False).T for kind, counts_CN in self._counts.items()}
        ends = dict.fromkeys(sums, 0)
        for kind, width in zip(self._kinds, self._widths, strict=True):
            ends[kind] += width
            yield sums[kind][ends[kind] - width : ends[kind]].T


def _exact_kind(counts_NC: Array) -> type[np.floating[Any]]:
    """Return float32, which is twice as fast, if all sums over N drawn sentences are exact in it, else float64."""
    is_whole = counts_NC.dtype.kind in "iu"
    return np.float32 if is_whole and len(counts_NC) * np.abs(counts_NC).max(initial=0) < 2**24 else np.float64


def _blocks(number: int) -> Iterator[slice]:
    for start in range(0, number, BLOCK):
        yield slice(start, min(start + BLOCK, number))


def _resamples(num_sentences: int, number: int) -> Iterator[tuple[slice, Array]]:
    """Yield [R, N]: how often each resample contains each sentence."""
    generator = np.random.default_rng(SEED)
    for block in _blocks(number):
        rows = block.stop - block.start
        drawn_RN = generator.choice(num_sentences, size=(rows, num_sentences), replace=True)
        drawn_RN += np.arange(rows)[:, None] * num_sentences
        counted = np.bincount(drawn_RN.ravel(), minlength=rows * num_sentences)
        yield block, counted.reshape(rows, num_sentences).astype(np.float32)


def _tosses(num_sentences: int, number: int) -> Iterator[tuple[slice, Array]]:
    """Yield [R, N]: for each trial, which sentences stay (1) and which are swapped (0)."""
    generator = np.random.default_rng(SEED)
    for block in _blocks(number):
        stays_RN = generator.integers(2, size=(block.stop - block.start, num_sentences), dtype=bool)
        yield block, stays_RN.astype(np.float32)
