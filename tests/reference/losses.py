"""Label-smoothed cross-entropy as a slow reference."""

from __future__ import annotations

import math
from collections.abc import Sequence

from torch import Tensor


def log_softmax(logits_V: Tensor) -> list[float]:
    values = [value.item() for value in logits_V]
    highest = max(values)
    total = math.fsum(math.exp(value - highest) for value in values)
    return [value - highest - math.log(total) for value in values]


def label_smoothed_cross_entropy(logits_TV: Tensor, labels: Sequence[int], smoothing: float) -> float:
    """Return the sum over words of (1 - e) NLL + e / V sum_v -log p_v (Szegedy et al. 2016, eq. 4, uniform prior)."""
    total = 0.0
    for logits_V, label in zip(logits_TV, labels, strict=True):
        log_p = log_softmax(logits_V)
        total += (1.0 - smoothing) * -log_p[label]  # (1 - e) NLL
        total += smoothing / len(log_p) * -math.fsum(log_p)  # e / V, the true word included
    return total
