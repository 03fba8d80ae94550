"""What a metric must know of each sentence, and the scores of many sums of it at once.

A corpus score is a function of sums over sentences: BLEU of n-grams, matches and lengths, COMET of the sentences'
scores and their number. Whoever resamples sentences needs nothing else. What sacreBLEU computes of one sum at a time is
computed here of all sums together, step by step as it does, so that the results are the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
BLEU_ORDER = 4


@dataclass(frozen=True)
class SentenceCounts:
    """A system's translations of one test set under one metric.

    Attributes:
        counts_NC: a row a sentence; whole numbers, or float64 where they are measured.
        score: sums [R, C] -> corpus scores [R].
    """

    counts_NC: Array
    score: Callable[[Array], Array]

    @property
    def total(self) -> float:
        """Return the score of the test set itself."""
        return float(self.score(self.counts_NC.sum(axis=0, keepdims=True))[0])


def percent(sums_RC: Array) -> Array:
    """Return the first sum in percent of the second; 0 of nothing."""
    part_R, whole_R = sums_RC.astype(np.float64).T
    return np.asarray(100 * np.divide(part_R, whole_R, out=np.zeros_like(part_R), where=whole_R > 0))


def exponential(sums_RC: Array) -> Array:
    """Return e to the first sum for one of the second (perplexity)."""
    lost_R, pieces_R = sums_RC.astype(np.float64).T
    return np.asarray(np.exp(np.divide(lost_R, pieces_R, out=np.zeros_like(lost_R), where=pieces_R > 0)))


def bleu_scores(sums_RC: Array, *, smooth: bool = True) -> Array:
    """Return BLEU; with sacreBLEU's smoothing the n-th order without a match counts as one in 2^n."""
    sums_CR = np.ascontiguousarray(sums_RC.T, dtype=np.float64)
    hyp_R, ref_R = sums_CR[:2]
    correct_OR, total_OR = sums_CR[2 : 2 + BLEU_ORDER], sums_CR[2 + BLEU_ORDER :]
    zero_OR = correct_OR == 0
    unmatched_R = zero_OR.all(axis=0) if smooth else zero_OR.any(axis=0)
    if zero_OR.any():
        smoothed_OR = np.where(zero_OR, 0.5, 1.0)
        for order in range(1, BLEU_ORDER):
            smoothed_OR[order] *= smoothed_OR[order - 1]
        correct_OR = np.where(zero_OR, smoothed_OR, correct_OR)
    logarithms_R = np.log(100.0 * correct_OR / np.maximum(total_OR, 1)).sum(axis=0)
    penalty_R = np.where(hyp_R < ref_R, np.exp(1 - ref_R / np.maximum(hyp_R, 1)), 1.0)
    none_R = unmatched_R | (total_OR == 0).any(axis=0)
    return np.where(none_R, 0.0, penalty_R * np.exp(logarithms_R / BLEU_ORDER))


def chrf_scores(sums_RC: Array, beta: int = 2) -> Array:
    """Return chrF: F of precision and recall, each averaged over the orders that both texts have.

    Shares are taken in the precision of the sums, as sacreBLEU takes them.
    """
    sums_CR = np.ascontiguousarray(sums_RC.T)
    hyp_OR, ref_OR, match_OR = (sums_CR[start::3] for start in range(3))
    both_OR = (hyp_OR > 0) & (ref_OR > 0)
    precision_R, recall_R = (
        np.where(both_OR, match_OR / np.maximum(whole_OR, 1), 0).sum(axis=0, dtype=np.float64)
        / np.maximum(both_OR.sum(axis=0), 1)
        for whole_OR in (hyp_OR, ref_OR)
    )
    factor, weighted_R = beta**2, beta**2 * precision_R + recall_R
    score_R = (1 + factor) * precision_R * recall_R
    return np.asarray(100 * np.divide(score_R, weighted_R, out=np.zeros_like(score_R), where=weighted_R > 0))
