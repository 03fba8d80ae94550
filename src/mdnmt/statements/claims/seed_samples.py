"""A number measured once per seed, and whether it differs from another: Welch's t interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mdnmt.config.claims import Threshold
from mdnmt.numbers.rounding import mean, standard_deviation
from mdnmt.numbers.verdicts import MIN_SEEDS
from mdnmt.statements.claims.outcome import Comparison
from mdnmt.welch import quantile, standard_error, two_sided


@dataclass(frozen=True)
class Sample:
    """Mean and spread over seeds.

    Attributes:
        mean: over the seeds.
        sd: sample standard deviation; None for fewer than two seeds.
        num_seeds: how many.
        slack: half-width of the uncertainty of a number that does not depend on a seed (0: exact); None: it does.
        doubt: why it cannot decide anything; None: it can.
    """

    mean: float
    sd: float | None = None
    num_seeds: int = 1
    slack: float | None = None
    doubt: str | None = None


def of_values(values: Sequence[float]) -> Sample:
    """Return the sample of at least one value, one per seed."""
    return Sample(mean(values), standard_deviation(values), len(values))


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


def _p(threshold: Threshold, difference: float, error: tuple[float, float, float]) -> float:
    """Return the two-sided p of a difference at the threshold; 0.05 is where the 95 % interval touches it."""
    side, bound = threshold.bound
    distance = abs((abs(difference) if side == "within" else difference) - bound)
    slack, standard, freedom = error
    if distance <= slack and (slack or standard):
        return 1.0
    return two_sided((distance - slack) / standard, freedom) if standard else 0.0


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
    threshold: Threshold, left: Sample, right: Sample | None = None, *, times: float = 1.0, **details: Any
) -> Comparison:
    """Return the comparison of `left - times * right` with the threshold; `details` are its further fields.

    It is decided if each side has at least three seeds and the 95 % interval lies on one side of the threshold.
    """
    parts = [(1.0, left)] if right is None else [(1.0, left), (-times, right)]
    difference = math.fsum(weight * sample.mean for weight, sample in parts)
    seeds = [sample.num_seeds for _, sample in parts if sample.slack is None]
    error = _error(parts)
    reach = None if error is None else error[0] + (quantile(error[2]) * error[1] if error[1] else 0.0)
    doubt = next((sample.doubt for _, sample in parts if sample.doubt), None)
    decided = reach is not None and min(seeds, default=MIN_SEEDS) >= MIN_SEEDS and doubt is None
    return Comparison(
        left=left.mean,
        right=None if right is None else right.mean,
        difference=difference,
        half_width=reach,
        toward=fulfils(threshold, difference, difference),
        holds=fulfils(threshold, difference - (reach or 0.0), difference + (reach or 0.0)) if decided else None,
        p=_p(threshold, difference, error) if decided and error is not None else None,
        num_seeds=min(seeds, default=None),
        doubt=doubt,
        **details,
    )
