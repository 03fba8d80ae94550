"""Average the weights of several checkpoints."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor


def average_weights(checkpoints: Iterable[dict[str, Tensor]]) -> dict[str, Tensor]:
    """Return the mean of every floating-point tensor, accumulated in float64 and returned in its own dtype.

    Other tensors (counters, masks) are those of the last checkpoint. If `checkpoints` is a generator, only one
    checkpoint and the sums are in memory at a time.

    Args:
        checkpoints: the weights of one run at one or more of its updates.
    """
    sums: dict[str, Tensor] = {}
    count = 0
    for weights in checkpoints:
        count += 1
        for name, tensor in weights.items():
            if tensor.is_floating_point():
                total = sums.setdefault(name, torch.zeros_like(tensor, dtype=torch.float64))
                total += tensor.to(torch.float64)
    return {
        name: (sums.pop(name) / count).to(tensor.dtype) if name in sums else tensor.clone()
        for name, tensor in weights.items()
    }
