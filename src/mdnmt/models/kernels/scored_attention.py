"""Attention by two batched matrix products, for CPUs, where torch's fused kernel is slow: it multiplies small tiles."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from mdnmt.models.kernels.packed_dropout import draw_kept, keep


def scored_attention(
    q_BHTE: Tensor, k_BHSE: Tensor, v_BHSE: Tensor, mask_B11S: Tensor | None, *, dropout: float, is_causal: bool
) -> Tensor:
    """Return softmax(Q K^T / sqrt(E)) V, [B, H, T, E].

    The products have the type of Q, K and V; the softmax is in float32 at least. The weights, [B, H, T, S], are kept in
    memory in the type of the products; for sentences of up to 60 tokens they are smaller than Q.
    """
    return _ScoredAttention.apply(  # type: ignore[no-any-return, no-untyped-call]
        q_BHTE, k_BHSE, v_BHSE, mask_B11S, dropout, is_causal
    )


def _batched(x_BHTE: Tensor) -> Tensor:
    """Return [B, H, T, E] as [B * H, T, E]."""
    return x_BHTE.reshape(-1, *x_BHTE.shape[2:])


class _ScoredAttention(torch.autograd.Function):
    # Letter N: B * H.
    @staticmethod
    def forward(
        ctx: Any,
        q_BHTE: Tensor,
        k_BHSE: Tensor,
        v_BHSE: Tensor,
        mask_B11S: Tensor | None,
        dropout: float,
        is_causal: bool,
    ) -> Tensor:
        q_NTE, k_NSE, v_NSE = _batched(q_BHTE), _batched(k_BHSE), _batched(v_BHSE)
        scale = 1.0 / math.sqrt(q_NTE.size(2))
        exact = torch.promote_types(q_NTE.dtype, torch.float32)
        score_NTS = torch.bmm(q_NTE, k_NSE.transpose(1, 2)).to(exact).mul_(scale)
        if mask_B11S is not None:
            score_NTS.view(*q_BHTE.shape[:3], -1).masked_fill_(~mask_B11S, -math.inf)
        if is_causal:
            later_TS = torch.ones(score_NTS.shape[1:], dtype=torch.bool, device=score_NTS.device).triu(1)
            score_NTS.masked_fill_(later_TS, -math.inf)
        p_NTS = score_NTS.softmax(-1).to(q_NTE.dtype)
        kept_NTS = draw_kept(p_NTS.shape, dropout) if dropout else None
        ctx.save_for_backward(q_NTE, k_NSE, v_NSE, p_NTS, kept_NTS)
        ctx.scale, ctx.dropout, ctx.num_heads = scale, dropout, q_BHTE.size(1)
        used_NTS = keep(p_NTS, kept_NTS, dropout) if kept_NTS is not None else p_NTS
        return torch.bmm(used_NTS, v_NSE).view_as(q_BHTE)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        q_NTE, k_NSE, v_NSE, p_NTS, kept_NTS = ctx.saved_tensors
        y_grad_NTE = _batched(gradients[0])
        used_NTS = keep(p_NTS, kept_NTS, ctx.dropout) if kept_NTS is not None else p_NTS
        v_grad_NSE = torch.bmm(used_NTS.transpose(1, 2), y_grad_NTE)
        p_grad_NTS = torch.bmm(y_grad_NTE, v_NSE.transpose(1, 2))
        if kept_NTS is not None:
            p_grad_NTS = keep(p_grad_NTS, kept_NTS, ctx.dropout)
        # The derivative of a softmax: p * (gradient - sum of p * gradient)
        exact = torch.promote_types(p_NTS.dtype, torch.float32)
        weighed_NTS = p_grad_NTS.to(exact) * p_NTS.to(exact)
        score_grad_NTS = weighed_NTS.addcmul_(p_NTS.to(exact), weighed_NTS.sum(-1, keepdim=True), value=-1.0)
        score_grad_NTS = score_grad_NTS.mul_(ctx.scale).to(q_NTE.dtype)
        grads = (torch.bmm(score_grad_NTS, k_NSE), torch.bmm(score_grad_NTS.transpose(1, 2), q_NTE), v_grad_NSE)
        return *(grad.view(-1, ctx.num_heads, *grad.shape[1:]) for grad in grads), None, None, None
