"""Average the weights of several checkpoints."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor

from mdnmt.errors import CheckpointError


def average_weights(checkpoints: Iterable[dict[str, Tensor]]) -> dict[str, Tensor]:
    """Return the mean of every floating-point tensor, accumulated in float64 and returned in its own dtype.

    Other tensors (counters, masks) are those of the last checkpoint. If `checkpoints` is a generator, only one
    checkpoint and the sums are in memory at a time.

    Raises:
        CheckpointError: there are none, or their names, shapes or dtypes differ.
    """
    sums: dict[str, Tensor] = {}
    first: dict[str, Tensor] = {}  # on the meta device: shapes and dtypes only
    weights: dict[str, Tensor] = {}
    number = 0
    for number, weights in enumerate(checkpoints, start=1):
        if number == 1:
            first = {name: tensor.to("meta") for name, tensor in weights.items()}
        _require_same(first, weights, number)
        for name, tensor in weights.items():
            if tensor.is_floating_point():
                total = sums.setdefault(name, torch.zeros_like(tensor, dtype=torch.float64))
                total += tensor.to(torch.float64)
    if not number:
        raise CheckpointError("no checkpoint to average: expected at least one")
    return {
        name: (sums.pop(name) / number).to(tensor.dtype) if name in sums else tensor.clone()
        for name, tensor in weights.items()
    }


def _require_same(first: dict[str, Tensor], weights: dict[str, Tensor], number: int) -> None:
    if odd := sorted(weights.keys() ^ first.keys()):
        raise CheckpointError(
            f"checkpoints to average are of different models: {odd[0]!r} is not in both number 1 "
            f"and number {number}; average checkpoints of one run"
        )
    for name, tensor in weights.items():
        if tensor.shape != first[name].shape or tensor.dtype != first[name].dtype:
            raise CheckpointError(
                f"checkpoints to average are of different models: {name!r} is {tuple(first[name].shape)} "
                f"{first[name].dtype} in number 1, {tuple(tensor.shape)} {tensor.dtype} in number {number}"
            )
