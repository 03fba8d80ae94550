"""Holm's correction for many comparisons."""

from __future__ import annotations

import math
from collections.abc import Sequence


def holm(p_values: Sequence[float]) -> list[float]:
    """Return corrected p-values, in the given order, that bound the family-wise error rate (Holm 1979).

    The smallest of m p-values is multiplied by m, the next one by m - 1, and so on. No corrected value exceeds 1 or is
    lower than that of a smaller p-value.
    """
    corrected, largest = [0.0] * len(p_values), 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=lambda place: p_values[place])):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[place]))
        corrected[place] = largest
    return corrected


def draws_needed(comparisons: int, alpha: float) -> int:
    """Return the number of draws with which p-values can fall well below alpha / comparisons: 40 x comparisons / alpha.

    The smallest p-value of n draws is 1 / (n + 1), so with fewer than comparisons / alpha draws, no difference could be
    significant.
    """
    return math.ceil(round(40 * comparisons / alpha, 6))
