"""Mean and spread of a number over the seeds of a method."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Spread:
    """A number over several seeds.

    Attributes:
        mean: arithmetic mean.
        sd: sample standard deviation (n - 1); None with one seed, which has no spread.
        num_seeds: how many.
    """

    mean: float
    sd: float | None
    num_seeds: int


def spread(values: Mapping[str, float]) -> Spread:
    """Return mean and sample standard deviation of `values` (seed -> number).

    Raises:
        ValueError: there is no value.
    """
    if not values:
        raise ValueError("no seed to average over")
    numbers = list(values.values())
    sd = statistics.stdev(numbers) if len(numbers) > 1 else None
    return Spread(mean=statistics.fmean(numbers), sd=sd, num_seeds=len(numbers))


def seed_order(seed: str) -> tuple[int, str]:
    """Return a sort key that puts seed 2 before seed 10."""
    return (int(seed), seed) if seed.isdecimal() else (0, seed)
