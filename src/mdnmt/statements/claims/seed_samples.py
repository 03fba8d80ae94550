"""A number measured once per seed, and whether it differs from another.

Student's t decides: of the differences, seed by seed, if both numbers are of the same models, else Welch's. Where no
value varies, t is not defined, and only the exact test of the signs (or of all permutations) is left.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from mdnmt.config.claim_rule import Threshold
from mdnmt.numbers.rounding import mean, standard_deviation
from mdnmt.numbers.verdicts import MIN_SEEDS
from mdnmt.statements.claims.outcome import Comparison
from mdnmt.welch import quantile, standard_error, two_sided

ALPHA = 0.05  # probability of a wrong verdict on a claim, two-sided
ROUNDING = 1e-12  # standard errors up to this size are float rounding


@dataclass(frozen=True)
class Sample:
    """Mean and spread over seeds.

    Attributes:
        mean: over the seeds.
        sd: sample standard deviation; None for fewer than two seeds.
        num_seeds: how many.
        slack: half-width of the uncertainty of a number that does not depend on a seed (0: exact); None: it does.
        doubt: why it cannot decide anything; None: it can.
        values: one per seed; empty: not known, or it does not depend on a seed.
    """

    mean: float
    sd: float | None = None
    num_seeds: int = 1
    slack: float | None = None
    doubt: str | None = None
    values: tuple[float, ...] = ()


def of_values(values: Sequence[float]) -> Sample:
    """Return the sample of at least one value, one per seed."""
    return Sample(mean(values), standard_deviation(values), len(values), values=tuple(values))


def _error(parts: Sequence[tuple[float, Sample]]) -> tuple[float, float, float] | None:
    """Return (slack, standard error, degrees of freedom) of a weighted sum; None if a term has one seed."""
    slack, known = 0.0, []
    for weight, sample in parts:
        if sample.slack is not None:
            slack += abs(weight) * sample.slack
        elif sample.sd is None:
            return None
        else:
            known.append((abs(weight) * sample.sd, sample.num_seeds))
    return slack, *standard_error(known)


def _distance(threshold: Threshold, difference: float) -> float:
    """Return how far a difference lies from the threshold."""
    side, bound = threshold.bound
    return abs((abs(difference) if side == "within" else difference) - bound)


def _reach_and_p(
    distance: float, error: tuple[float, float, float], seeds: Sequence[int]
) -> tuple[float | None, float]:
    """Return half the width of the 95 % interval of a difference, and its two-sided p at the threshold.

    At p = 0.05, the interval touches the threshold. If no value varies between the seeds, there is no interval, and p
    is that of the exact test.

    Args:
        distance: of the difference from the threshold.
        error: the result of `_error`.
        seeds: number of values of each sample that depends on a seed.
    """
    slack, standard, freedom = error
    if seeds and standard <= ROUNDING:
        return None, exact_p(seeds) if distance > slack else 1.0
    reach = slack + (quantile(freedom) * standard if standard else 0.0)
    if distance <= slack and (slack or standard):
        return reach, 1.0
    return reach, two_sided((distance - slack) / standard, freedom) if standard else 0.0


def exact_p(seeds: Sequence[int]) -> float:
    """Return the smallest two-sided p of values of which none varies: 0.25 for three seeds, 0.03125 for six.

    One sample: the sign test, in which all of n signs are equal with probability 2 / 2^n. Two samples: the permutation
    test, in which one of all C(n + m, n) ways to split the values separates them completely, in either direction.

    Args:
        seeds: number of values of each sample.
    """
    return min(1.0, 2.0 / (2 ** seeds[0] if len(seeds) == 1 else math.comb(sum(seeds), seeds[0])))


def _why_open(seeds: Sequence[int]) -> str:
    """Return why values of which none varies decide nothing yet, and how many seeds would be enough."""
    needed = next(number for number in count(MIN_SEEDS) if exact_p([number] * len(seeds)) <= ALPHA)
    each = " of each system" if len(seeds) > 1 else ""
    return (
        f"the seeds do not differ, so only an exact test is possible (p = {exact_p(seeds):.2g}); a verdict needs "
        f"{needed} seeds{each}"
    )


def fulfils(threshold: Threshold, low: float, high: float) -> bool | None:
    """Say whether all values from `low` to `high` fulfil a threshold (True), none does (False), or some do (None)."""
    side, bound = threshold.bound
    if side == "within":
        if -bound < low and high < bound:
            return True
        return False if low >= bound or high <= -bound else None
    if side == "below":
        low, high, bound = -high, -low, -bound
    if low > bound:
        return True
    return False if high <= bound else None


def compare(
    threshold: Threshold,
    left: Sample,
    right: Sample | None = None,
    *,
    times: float = 1.0,
    paired: bool = False,
    **details: Any,
) -> Comparison:
    """Return the comparison of `left - times * right` with the threshold.

    It is decided if each side has at least three seeds and the 95 % interval lies on one side of the threshold.

    Args:
        threshold: the rule.
        left: a number.
        right: the number that is subtracted; None: nothing is.
        times: factor of `right`.
        paired: both numbers are of the same models, so their difference is taken seed by seed.
        details: further fields of the comparison.
    """
    parts = [(1.0, left)] if right is None else [(1.0, left), (-times, right)]
    difference = math.fsum(weight * sample.mean for weight, sample in parts)
    doubt = next((sample.doubt for _, sample in parts if sample.doubt), None)
    if paired and right is not None and left.values and len(left.values) == len(right.values):
        parts = [(1.0, of_values([one - times * other for one, other in zip(left.values, right.values, strict=True)]))]
    seeds = [sample.num_seeds for _, sample in parts if sample.slack is None]
    error = _error(parts)
    reach, p = (None, None) if error is None else _reach_and_p(_distance(threshold, difference), error, seeds)
    tested = error is not None and min(seeds, default=MIN_SEEDS) >= MIN_SEEDS and doubt is None
    shown = tested and (reach is not None or (p is not None and p <= ALPHA))
    if tested and reach is None and not shown:
        doubt = _why_open(seeds)
    width = reach or (error[0] if error else 0.0)
    return Comparison(
        left=left.mean,
        right=None if right is None else right.mean,
        difference=difference,
        half_width=reach,
        toward=fulfils(threshold, difference, difference),
        holds=fulfils(threshold, difference - width, difference + width) if shown else None,
        p=p if tested else None,
        tested=tested,
        num_seeds=min(seeds, default=None),
        doubt=doubt,
        **details,
    )
