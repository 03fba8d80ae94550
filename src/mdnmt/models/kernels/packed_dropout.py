"""Dropout that takes four decisions from each 64-bit random number; torch on a CPU draws one per decision."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

LEVELS = 1 << 15  # a rate is rounded to a multiple of 1 / LEVELS


def packed_dropout(x: Tensor, rate: float) -> Tensor:
    """Return x with each element zeroed with probability `rate` and the others scaled to keep the mean."""
    return _Dropout.apply(x, rate)  # type: ignore[no-any-return, no-untyped-call]


def draw_kept(shape: torch.Size, rate: float) -> Tensor:
    """Draw which numbers are kept, as int16: all bits set for a kept number, none for a dropped one."""
    size = math.prod(shape)
    # Each draw of 64 bits gives four numbers of 16 bits, of which 15 are used.
    draws = torch.empty(-(-size // 4), dtype=torch.int64).random_(-(2**63), None)
    bits = draws.view(torch.int16)[:size].bitwise_and_(LEVELS - 1)
    # (threshold - 1 - bits) is negative for a kept number; the shift copies its sign bit to all bits.
    return bits.neg_().add_(_threshold(rate) - 1).bitwise_right_shift_(15).view(shape)


def keep(x: Tensor, kept: Tensor, rate: float) -> Tensor:
    """Return x scaled where it is kept, and 0 elsewhere."""
    scale = LEVELS / (LEVELS - _threshold(rate))
    if x.dtype in (torch.bfloat16, torch.float16):
        return (x.view(torch.int16) & kept).view(x.dtype).mul_(scale)
    return (x * kept.to(x.dtype)).mul_(-scale)


def _threshold(rate: float) -> int:
    return min(LEVELS - 1, round(rate * LEVELS))


class _Dropout(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, rate: float) -> Tensor:
        kept = draw_kept(x.shape, rate)
        ctx.save_for_backward(kept)
        ctx.rate = rate
        return keep(x, kept, rate)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        return keep(gradients[0], ctx.saved_tensors[0], ctx.rate), None
