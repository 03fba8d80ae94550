"""Vectors weighted by the shares of K domains or experts, with derivatives that avoid large intermediate results.

Plain torch operators compute the same, but their derivatives write products as large as all weighted vectors, only to
sum them right away. On a CPU this memory traffic costs more than the sums.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from mdnmt.models.kernels import takes_cpu_kernel


def weighted(x_BTD: Tensor, share_BTK: Tensor) -> Tensor:
    """Return p_1 x, ..., p_K x of each token, [B, T, K, D]."""
    found: Tensor = _Weighted.apply(x_BTD, share_BTK)  # type: ignore[no-untyped-call]
    return found


def weighted_sum(parts_BTKD: Tensor, share_BTK: Tensor) -> Tensor:
    """Return sum_k p_k y_k of each token, [B, T, D]."""
    found: Tensor = _WeightedSum.apply(parts_BTKD, share_BTK)  # type: ignore[no-untyped-call]
    return found


class _Weighted(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x_BTD: Tensor, share_BTK: Tensor) -> Tensor:
        ctx.save_for_backward(x_BTD, share_BTK)
        return _weigh(x_BTD, share_BTK)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, Tensor | None]:
        x_BTD, share_BTK = ctx.saved_tensors
        wants_x, wants_share = ctx.needs_input_grad
        return (
            _sum(gradients[0], share_BTK) if wants_x else None,
            _products(gradients[0], x_BTD) if wants_share else None,
        )


class _WeightedSum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, parts_BTKD: Tensor, share_BTK: Tensor) -> Tensor:
        ctx.save_for_backward(parts_BTKD if ctx.needs_input_grad[1] else None, share_BTK)
        return _sum(parts_BTKD, share_BTK)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, Tensor | None]:
        parts_BTKD, share_BTK = ctx.saved_tensors
        wants_parts, wants_share = ctx.needs_input_grad
        return (
            _weigh(gradients[0], share_BTK) if wants_parts else None,
            _products(parts_BTKD, gradients[0]) if wants_share else None,
        )


def _weigh(x_BTD: Tensor, share_BTK: Tensor) -> Tensor:
    return share_BTK.unsqueeze(-1) * x_BTD.unsqueeze(-2)


def _products(parts_BTKD: Tensor, x_BTD: Tensor) -> Tensor:
    return (parts_BTKD * x_BTD.unsqueeze(-2)).sum(-1)


def _sum(parts_BTKD: Tensor, share_BTK: Tensor) -> Tensor:
    if torch.compiler.is_compiling():  # into one kernel
        return (share_BTK.unsqueeze(-1) * parts_BTKD).sum(-2)
    if not takes_cpu_kernel(parts_BTKD):
        total_M1D = torch.bmm(share_BTK.flatten(0, -2).unsqueeze(1), parts_BTKD.flatten(0, -3))
        return total_M1D.view(*share_BTK.shape[:-1], -1)
    # Adding one part at a time keeps the sum in the cache and writes no intermediate results.
    total_BTD = parts_BTKD[..., 0, :] * share_BTK[..., :1]
    for k in range(1, parts_BTKD.size(-2)):
        total_BTD.addcmul_(parts_BTKD[..., k, :], share_BTK[..., k : k + 1])
    return total_BTD
