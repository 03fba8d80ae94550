"""Rank correlation (Spearman 1904) with average ranks for ties."""

from __future__ import annotations

import math
from collections.abc import Sequence

from mdnmt.numbers.rounding import mean


def ranks(values: Sequence[float]) -> list[float]:
    """Return the rank of each value, from 1; tied values share their mean rank."""
    below = [sum(other < value for other in values) for value in values]
    return [lower + (values.count(value) + 1) / 2 for lower, value in zip(below, values, strict=True)]


def spearman(left: Sequence[float], right: Sequence[float]) -> float:
    """Return the rank correlation of two sequences of the same length; 0 if one of them is constant."""
    x, y = ranks(left), ranks(right)
    dx, dy = [value - mean(x) for value in x], [value - mean(y) for value in y]
    scale = math.sqrt(math.fsum(d * d for d in dx) * math.fsum(d * d for d in dy))
    return math.fsum(a * b for a, b in zip(dx, dy, strict=True)) / scale if scale else 0.0
