"""Vectors weighed by the shares of K domains or experts, with derivatives that write no more than they must.

Plain torch operators compute the same, but their derivatives write products as large as all weighed vectors only to
add them up at once; on a CPU such walks through memory cost more than the sums.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

PIECE_ENTRIES = 1 << 17


def weighed(x_BTD: Tensor, share_BTK: Tensor) -> Tensor:
    """Return p_1 x, ..., p_K x of each word, [B, T, K, D]."""
    found: Tensor = _Weighed.apply(x_BTD, share_BTK)  # type: ignore[no-untyped-call]
    return found


def weighed_sum(parts_BTKD: Tensor, share_BTK: Tensor) -> Tensor:
    """Return sum_k p_k y_k of each word, [B, T, D]."""
    found: Tensor = _WeighedSum.apply(parts_BTKD, share_BTK)  # type: ignore[no-untyped-call]
    return found


def weighed_relu(parts_NKF: Tensor, share_NK: Tensor) -> Tensor:
    """Return p_k max(y_k, 0) of each word, [N, K, F]."""
    found: Tensor = _WeighedRelu.apply(parts_NKF, share_NK)  # type: ignore[no-untyped-call]
    return found


class _Weighed(torch.autograd.Function):
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


class _WeighedSum(torch.autograd.Function):
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


class _WeighedRelu(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, parts_NKF: Tensor, share_NK: Tensor) -> Tensor:
        ctx.save_for_backward(parts_NKF, share_NK)
        if not _is_cut(parts_NKF):
            return parts_NKF.relu() * share_NK.unsqueeze(-1)
        found_NKF = torch.empty_like(parts_NKF)
        for rows in _cuts(parts_NKF):
            torch.clamp_min(parts_NKF[rows], 0, out=found_NKF[rows]).mul_(share_NK[rows].unsqueeze(-1))
        return found_NKF

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor]:
        parts_NKF, share_NK = ctx.saved_tensors
        [gradient_NKF] = gradients
        if not _is_cut(parts_NKF):
            reached_NKF = torch.where(parts_NKF > 0, gradient_NKF, 0)
            return reached_NKF * share_NK.unsqueeze(-1), (reached_NKF * parts_NKF).sum(-1)
        parts_gradient_NKF, share_gradient_NK = torch.empty_like(parts_NKF), torch.empty_like(share_NK)
        for rows in _cuts(parts_NKF):
            reached_NKF = torch.ops.aten.threshold_backward(gradient_NKF[rows], parts_NKF[rows], 0)
            torch.mul(reached_NKF, share_NK[rows].unsqueeze(-1), out=parts_gradient_NKF[rows])
            share_gradient_NK[rows] = reached_NKF.mul_(parts_NKF[rows]).sum(-1)
        return parts_gradient_NKF, share_gradient_NK


def _is_cut(parts_NKF: Tensor) -> bool:
    return parts_NKF.device.type == "cpu" and not torch.compiler.is_compiling()


def _cuts(parts_NKF: Tensor) -> Iterator[slice]:
    """Yield pieces of the words, small enough to stay near the processor through several operators."""
    step = max(1, PIECE_ENTRIES // max(1, parts_NKF[:1].numel()))
    return (slice(start, start + step) for start in range(0, parts_NKF.size(0), step))


def _weigh(x_BTD: Tensor, share_BTK: Tensor) -> Tensor:
    return share_BTK.unsqueeze(-1) * x_BTD.unsqueeze(-2)


def _products(parts_BTKD: Tensor, x_BTD: Tensor) -> Tensor:
    return (parts_BTKD * x_BTD.unsqueeze(-2)).sum(-1)


def _sum(parts_BTKD: Tensor, share_BTK: Tensor) -> Tensor:
    if parts_BTKD.device.type != "cpu" or torch.compiler.is_compiling():
        return (share_BTK.unsqueeze(-1) * parts_BTKD).sum(-2)
    # Part by part, what is summed up stays near the processor, and nothing else is written.
    total_BTD = parts_BTKD[..., 0, :] * share_BTK[..., :1]
    for k in range(1, parts_BTKD.size(-2)):
        total_BTD.addcmul_(parts_BTKD[..., k, :], share_BTK[..., k : k + 1])
    return total_BTD
