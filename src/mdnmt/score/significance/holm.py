"""Many comparisons at once: Holm's correction."""

from __future__ import annotations

import math
from collections.abc import Sequence


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values corrected so that any false one among those below alpha is as rare as alpha (Holm 1979).

    The smallest is multiplied by how many there are, the next by one less, and so on; none falls below one before it.
    """
    corrected, largest = [0.0] * len(p_values), 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=lambda place: p_values[place])):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[place]))
        corrected[place] = largest
    return corrected


def draws_needed(comparisons: int, alpha: float) -> int:
    """Return how many draws leave room below alpha / comparisons: 40 times their inverse.

    The smallest p of n draws is 1 / (n + 1); with fewer than comparisons / alpha nothing could ever be significant.
    """
    return math.ceil(round(40 * comparisons / alpha, 6))
