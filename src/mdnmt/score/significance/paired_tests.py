"""Paired tests of two systems on one test set: can the choice of sentences explain their difference?

The random draws are those of sacreBLEU's command line (`--paired-bs`, `--paired-ar`) with the same seed. `p_sacrebleu`
and `p_randomisation` are sacreBLEU's p-values, except for ties (see `share_beyond`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mdnmt.errors import DataError
from mdnmt.score.significance.resampling import bootstrap_scores, randomised_differences
from mdnmt.score.significance.sentence_statistics import Array, SentenceCounts

NUM_RESAMPLES = 1000  # of the bootstrap; sacreBLEU's default
NUM_TRIALS = 10_000  # of the randomisation; sacreBLEU's default
LEVEL = 0.95
TIE = 1e-9  # differences this close count as equal: only the order of summation differs


@dataclass(frozen=True)
class PairedResult:
    """How a system differs from the baseline in one metric on one test set, with one seed of each.

    Attributes:
        delta: the system's score minus the baseline's.
        low: lower end of the 95 % interval of delta over the resamples.
        high: upper end of this interval.
        p_bootstrap: two-sided p-value of the paired bootstrap.
        p_sacrebleu: p-value from the same resamples, as sacreBLEU and Moses compute it (see `sacrebleu_p`).
        p_randomisation: two-sided p-value of approximate randomisation.
        baseline_score: the baseline's score on the test set itself.
        system_score: the system's score on the test set itself.
    """

    delta: float
    low: float
    high: float
    p_bootstrap: float
    p_sacrebleu: float
    p_randomisation: float
    baseline_score: float
    system_score: float


def compare_pair(
    baseline: SentenceCounts,
    system: SentenceCounts,
    num_resamples: int = NUM_RESAMPLES,
    num_trials: int = NUM_TRIALS,
) -> PairedResult:
    """Compare two systems by paired bootstrap and approximate randomisation.

    Raises:
        DataError: the numbers of sentences differ or are 0.
    """
    check(baseline, system)
    resampled_RS = bootstrap_scores([baseline, system], num_resamples)
    randomised_R = randomised_differences([(baseline, system)], num_trials)[:, 0]
    return paired_result(baseline.total, system.total, resampled_RS[:, 1] - resampled_RS[:, 0], randomised_R)


def check(baseline: SentenceCounts, system: SentenceCounts) -> None:
    """Check that two systems can be compared.

    Raises:
        DataError: as `compare_pair`.
    """
    here, there = len(baseline.counts_NC), len(system.counts_NC)
    if here != there or not here:
        raise DataError(
            f"found {here} sentences of the baseline and {there} of the system: expected as many, one at least"
        )


def paired_result(baseline_score: float, system_score: float, resampled_R: Array, randomised_R: Array) -> PairedResult:
    """Return the result for two scores, given their bootstrap differences and absolute randomised differences."""
    delta = system_score - baseline_score
    low, high = interval(resampled_R)
    return PairedResult(
        delta=delta,
        low=low,
        high=high,
        p_bootstrap=share_beyond(np.abs(resampled_R - resampled_R.mean()), delta),
        p_sacrebleu=sacrebleu_p(resampled_R, delta),
        p_randomisation=share_beyond(randomised_R, delta),
        baseline_score=baseline_score,
        system_score=system_score,
    )


def interval(resampled_R: Array) -> tuple[float, float]:
    """Return the 95 % percentile interval of bootstrap differences."""
    low, high = np.quantile(resampled_R, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def sacrebleu_p(resampled_R: Array, delta: float) -> float:
    """Return how often an absolute bootstrap difference exceeds the mean of all of them by |delta| or more.

    As in Moses and sacreBLEU, absolute values are taken before the mean is subtracted, not after. If nearly all
    differences have the same sign, only one tail is counted. Of pairs of equal systems, more than one in ten then gets
    p < 0.05.
    """
    sizes_R = np.abs(resampled_R)
    return share_beyond(sizes_R - sizes_R.mean(), delta)


def share_beyond(found_R: Array, delta: float) -> float:
    """Return p = (c + 1) / (n + 1), where c counts the values of `found_R` that are at least |delta|.

    sacreBLEU counts only values above |delta|. The two counts differ if a draw gives exactly |delta| again. This is
    common for systems that differ in only a few sentences; sacreBLEU then reports differences that do not exist.
    """
    beyond = int(np.count_nonzero(found_R >= abs(delta) - TIE))
    return (beyond + 1) / (len(found_R) + 1)
