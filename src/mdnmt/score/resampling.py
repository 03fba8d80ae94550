"""Chance's draws: sentences with replacement, and systems swapped sentence by sentence, drawn as sacreBLEU draws them.

The same draws serve all systems and metrics of a test set, so that a whole table costs a product of matrices: draws by
sentences times sentences by counts. The first draws are those of any smaller number of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from mdnmt.score.sentence_counts import Array, SentenceCounts

SEED = 12345  # sacreBLEU's default
BLOCK = 1024  # draws at a time; a multiple of 32, since numpy makes 32 truth values of one number


def bootstrap_scores(systems: Sequence[SentenceCounts], num_resamples: int, seed: int = SEED) -> Array:
    """Return the scores [R, systems] of resampled test sets (Koehn 2004), of the same sentences for each system."""
    counts_NC = np.hstack([system.counts_NC for system in systems]).astype(np.float64)
    # sacreBLEU adds whole numbers in single precision, in which they are exact.
    kinds = [np.float64 if system.counts_NC.dtype.kind == "f" else np.float32 for system in systems]
    scores_RS = np.empty((num_resamples, len(systems)))
    for rows, weights_RN in _resamples(len(counts_NC), num_resamples, seed):
        sums_RC = weights_RN @ counts_NC
        for place, (system, kind, columns) in enumerate(zip(systems, kinds, _columns(systems), strict=True)):
            scores_RS[rows, place] = system.score(sums_RC[:, columns].astype(kind))
    return scores_RS


def randomised_differences(
    pairs: Sequence[tuple[SentenceCounts, SentenceCounts]], num_trials: int, seed: int = SEED
) -> Array:
    """Return the absolute differences [R, pairs] of two systems whose sentences are swapped by the toss of a coin.

    Approximate randomisation: Noreen 1989; Riezler and Maxwell 2005.
    """
    moved = [SentenceCounts(first.counts_NC - second.counts_NC, first.score) for first, second in pairs]
    moved_NC = np.hstack([each.counts_NC for each in moved]).astype(np.float64)
    totals = [(first.counts_NC.sum(axis=0), second.counts_NC.sum(axis=0)) for first, second in pairs]
    found_RP = np.empty((num_trials, len(pairs)))
    for rows, tosses_RN in _tosses(len(moved_NC), num_trials, seed):
        sums_RC = tosses_RN @ moved_NC
        for place, (pair, (first_C, second_C), columns) in enumerate(zip(moved, totals, _columns(moved), strict=True)):
            one_R, other_R = (
                pair.score(part) for part in (second_C + sums_RC[:, columns], first_C - sums_RC[:, columns])
            )
            found_RP[rows, place] = np.abs(one_R - other_R)
    return found_RP


def _columns(systems: Sequence[SentenceCounts]) -> Iterator[slice]:
    """Yield where each system's counts stand beside those of the others."""
    start = 0
    for system in systems:
        width = system.counts_NC.shape[1]
        yield slice(start, start + width)
        start += width


def _blocks(number: int) -> Iterator[slice]:
    for start in range(0, number, BLOCK):
        yield slice(start, min(start + BLOCK, number))


def _resamples(num_sentences: int, number: int, seed: int) -> Iterator[tuple[slice, Array]]:
    """Yield how often each resample [R, N] holds each sentence."""
    generator = np.random.default_rng(seed)
    for block in _blocks(number):
        rows = block.stop - block.start
        drawn_RN = generator.choice(num_sentences, size=(rows, num_sentences), replace=True)
        drawn_RN += np.arange(rows)[:, None] * num_sentences
        counted = np.bincount(drawn_RN.ravel(), minlength=rows * num_sentences)
        yield block, counted.reshape(rows, num_sentences).astype(np.float64)


def _tosses(num_sentences: int, number: int, seed: int) -> Iterator[tuple[slice, Array]]:
    """Yield which sentences [R, N] of each trial stay as they are (1) and which are swapped (0)."""
    generator = np.random.default_rng(seed)
    for block in _blocks(number):
        yield (
            block,
            generator.integers(2, size=(block.stop - block.start, num_sentences), dtype=bool).astype(np.float64),
        )
