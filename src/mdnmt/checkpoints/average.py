"""The mean of several checkpoints' weights."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from mdnmt.errors import CheckpointError


def average_weights(checkpoints: Sequence[dict[str, Tensor]]) -> dict[str, Tensor]:
    """Return the mean of every floating-point tensor, accumulated in float64 and given back in its own dtype.

    Tensors that are not floating point (counters, masks) are those of the last checkpoint.

    Raises:
        CheckpointError: there are none, or their names, shapes or dtypes differ.
    """
    if not checkpoints:
        raise CheckpointError("no checkpoint to average: expected at least one")
    last = checkpoints[-1]
    for position, weights in enumerate(checkpoints):
        if odd := sorted(weights.keys() ^ last.keys()):
            raise CheckpointError(
                f"checkpoints to average are of different models: {odd[0]!r} is not in both number {position + 1} "
                f"and number {len(checkpoints)}; average checkpoints of one run"
            )
        for name, tensor in weights.items():
            if tensor.shape != last[name].shape or tensor.dtype != last[name].dtype:
                raise CheckpointError(
                    f"checkpoints to average are of different models: {name!r} is {tuple(tensor.shape)} {tensor.dtype} "
                    f"in number {position + 1}, {tuple(last[name].shape)} {last[name].dtype} in the last"
                )
    return {name: _mean([weights[name] for weights in checkpoints]) for name in last}


def _mean(tensors: list[Tensor]) -> Tensor:
    if not tensors[-1].is_floating_point():
        return tensors[-1].clone()
    total = torch.zeros_like(tensors[-1], dtype=torch.float64)
    for tensor in tensors:
        total += tensor.to(torch.float64)
    return (total / len(tensors)).to(tensors[-1].dtype)
