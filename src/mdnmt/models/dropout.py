"""Dropout: `F.dropout`, or on a CPU a kernel whose random bits are cheaper."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

from mdnmt.models.kernels import takes_cpu_kernel
from mdnmt.models.kernels.packed_dropout import packed_dropout


def dropout(x: Tensor, rate: float, training: bool) -> Tensor:
    """Return x with each element zeroed with probability `rate` and the others scaled to keep the mean."""
    if training and rate and takes_cpu_kernel(x):
        return packed_dropout(x, rate)
    return F.dropout(x, rate, training)
