"""Test a difference of two systems against seed variance and sentence variance together, with a t interval.

A system's score with one seed on one test set is modelled as a mean plus a seed effect, a sentence effect and their
interaction. The seeds of two systems are independent; the sentences are the same for both. So the variance of a
difference of two means over seeds is

    seed_a / S_a + seed_b / S_b + sentences

where S_a and S_b are the numbers of seeds. `sentences` is the variance of the resampled difference of the means; it
includes the interaction. The variance between seeds on one test set includes the interaction as well. It is subtracted
there, so that it counts once (as in a two-way analysis of variance: seeds + sentences - interaction).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from mdnmt.score.significance.sentence_statistics import Array
from mdnmt.welch import quantile, two_sided

MIN_SEEDS = 3


@dataclass(frozen=True)
class SeedTest:
    """A difference of two means over seeds, with its variance over seeds and sentences.

    Attributes:
        delta: the system's mean minus the baseline's.
        low: lower end of the 95 % interval of delta.
        high: upper end of this interval.
        p: two-sided p-value of t = delta / standard error.
        freedom: Satterthwaite's degrees of freedom of the standard error; None if nothing varies.
        seed_sd: the part of the standard error that comes from seeds.
        sentence_sd: the part that comes from sentences; the squares of both parts add up to that of the standard error.
        effect: delta divided by the pooled standard deviation between seeds, corrected for its bias with few seeds
            (Hedges' g); None if the seeds of each system have equal scores.
    """

    delta: float
    low: float
    high: float
    p: float
    freedom: float | None
    seed_sd: float
    sentence_sd: float
    effect: float | None


def seed_test(baseline_S: Array, system_S: Array, baseline_RS: Array, system_RS: Array, num_sentences: int) -> SeedTest:
    """Compare two systems over all of their seeds, of which each has at least `MIN_SEEDS`.

    Args:
        baseline_S: the baseline's score with each seed.
        system_S: the system's scores; its seeds may differ from the baseline's in number and value.
        baseline_RS: the baseline's scores on resampled test sets.
        system_RS: the system's scores on the same resamples.
        num_sentences: number of sentences of the test set, at least two.
    """
    delta = float(system_S.mean() - baseline_S.mean())
    unbiased = num_sentences / (num_sentences - 1)
    sentences = float((system_RS.mean(axis=1) - baseline_RS.mean(axis=1)).var()) * unbiased
    seeds, squares = 0.0, sentences**2 / (num_sentences - 1)
    for scores_S, scores_RS in ((baseline_S, baseline_RS), (system_S, system_RS)):
        count = len(scores_S)
        spread = float(scores_S.var(ddof=1)) / count
        interaction = float((scores_RS - scores_RS.mean(axis=1, keepdims=True)).var(axis=0).sum()) / (count - 1)
        seeds += max(0.0, spread - interaction * unbiased / count)
        squares += spread**2 / (count - 1)
    variance = seeds + sentences
    freedom = variance**2 / squares if squares else math.inf
    error = math.sqrt(variance)
    reach = quantile(freedom) * error
    return SeedTest(
        delta=delta,
        low=delta - reach,
        high=delta + reach,
        p=two_sided(delta / error, freedom) if error else 1.0,  # nothing varies, so nothing is known of the spread
        freedom=freedom if math.isfinite(freedom) else None,
        seed_sd=math.sqrt(seeds),
        sentence_sd=math.sqrt(sentences),
        effect=_hedges(baseline_S, system_S, delta),
    )


def _hedges(baseline_S: Array, system_S: Array, delta: float) -> float | None:
    freedom = len(baseline_S) + len(system_S) - 2
    pooled = sum((len(scores_S) - 1) * float(scores_S.var(ddof=1)) for scores_S in (baseline_S, system_S)) / freedom
    return delta / math.sqrt(pooled) * (1 - 3 / (4 * freedom - 1)) if pooled else None
