"""Welch's t interval: the uncertainty of a difference of means over seeds (Welch 1947).

The only t quantile and Welch interval of the project, used by `compare`, claims, verdicts and tables.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

LEVEL = 0.95


@lru_cache(maxsize=4096)
def quantile(freedom: float) -> float:
    """Return the two-sided 95 % quantile of Student's t (4.303 for 2 degrees of freedom)."""
    from scipy.stats import t  # type: ignore[import-untyped]  # takes a second to import; training never needs it

    return float(t.ppf((1 + LEVEL) / 2, freedom))


def two_sided(statistic: float, freedom: float) -> float:
    """Return the probability that Student's t is at least as far from 0 as `statistic`."""
    from scipy.stats import t

    return float(2 * t.sf(abs(statistic), freedom))


def standard_error(parts: Sequence[tuple[float, int]]) -> tuple[float, float]:
    """Return the standard error of a sum of independent means, and its degrees of freedom (Satterthwaite).

    Args:
        parts: (standard deviation of one value, number of values) of each mean; at least two values each.

    Returns:
        The standard error and the degrees of freedom; 0 and infinity if no value varies.
    """
    variances = [(sd**2 / count, count) for sd, count in parts]
    total = math.fsum(variance for variance, _ in variances)
    if total == 0.0:
        return 0.0, math.inf
    return math.sqrt(total), 1 / math.fsum((variance / total) ** 2 / (count - 1) for variance, count in variances)


def half_width(parts: Sequence[tuple[float, int]]) -> float | None:
    """Return half the width of the 95 % interval of a sum of independent means; `parts` as in `standard_error`.

    None: no value varies, so nothing can be estimated.
    """
    error, freedom = standard_error(parts)
    return quantile(freedom) * error if error else None
