"""Several systems against one baseline: simultaneous intervals over seeds (Dunnett 1955)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from mdnmt.numbers.rounding import mean
from mdnmt.welch import LEVEL

DRAW = 1955  # seed of scipy's integration of the multivariate t distribution, so that numbers can be recomputed


@dataclass(frozen=True)
class Family:
    """The comparisons of several systems with one baseline.

    Attributes:
        sd: pooled standard deviation between seeds, over all systems and the baseline.
        quantile: half the width of a simultaneous 95 % interval, in standard errors of its difference; the same for all
            systems that have equally many seeds, and else of the first.
        reaches: half the width of each system's simultaneous 95 % interval.
        p_values: of each system, adjusted for the whole family.
    """

    sd: float
    quantile: float
    reaches: tuple[float, ...]
    p_values: tuple[float, ...]

    def seeds_for(self, reach: float) -> int:
        """Return how many seeds of each system give an interval of half this width, at the same spread.

        The baseline has sqrt(m) times as many for m systems, which is where the intervals are narrowest for a number of
        runs. The quantile stays, although it becomes smaller with more seeds.
        """
        return math.ceil((self.quantile * self.sd / reach) ** 2 * (1 + 1 / math.sqrt(len(self.reaches))))


def compare_with_baseline(systems: Sequence[Sequence[float]], baseline: Sequence[float]) -> Family | None:
    """Return the comparisons of `systems` with `baseline`, from values of which each belongs to one seed.

    Args:
        systems: values of each system, at least two.
        baseline: values of the baseline, at least two.

    Returns:
        None if there is no system, or if no value varies, so that nothing can be estimated.
    """
    groups = [baseline, *systems]
    freedom = sum(len(values) - 1 for values in groups)
    squares = math.fsum((value - mean(values)) ** 2 for values in groups for value in values)
    if not systems or math.isclose(squares, 0.0, abs_tol=1e-18):
        return None
    from scipy.stats import dunnett  # type: ignore[import-untyped]  # takes a second to import

    tested = dunnett(*systems, control=baseline, rng=DRAW)
    interval = tested.confidence_interval(LEVEL)
    reaches = tuple((high - low) / 2 for low, high in zip(interval.low.tolist(), interval.high.tolist(), strict=True))
    sd = math.sqrt(squares / freedom)
    error = sd * math.sqrt(1 / len(systems[0]) + 1 / len(baseline))
    return Family(sd, reaches[0] / error, reaches, tuple(tested.pvalue.tolist()))
