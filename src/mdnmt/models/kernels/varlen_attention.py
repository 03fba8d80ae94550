"""Attention over the sentences of a packed batch ("varlen"), with dropout of its weights.

On a GPU, one of two kernels of torch reads where the sentences begin: the flash kernel in bfloat16 and float16, the
memory-efficient one in float32. `torch.nn.attention.varlen` calls the first one too, but without dropout. Elsewhere,
the sentences are padded for torch's attention.

What was run: the plain form on a CPU, against the padded layout in float64. The kernels on no GPU yet. With torch 2.13,
types and shapes were checked on fake CUDA tensors: both directions of the flash kernel, the forward direction of the
other. All arguments were checked by the dispatcher, with kernels that a test imitates on a CPU.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from mdnmt.models.packing import Packing

aten = torch.ops.aten
MAX_FLASH_WIDTH = 256  # of a head
FROM_TOP_LEFT = 1  # the causal mask of the memory-efficient kernel; 0: no mask


class AttentionOptions(NamedTuple):
    """The arguments of `varlen_attention` besides queries, keys and values."""

    queries: Packing
    keys: Packing
    dropout: float
    is_causal: bool
    scale: float


def varlen_attention(
    q_BHTE: Tensor,
    k_BHSE: Tensor,
    v_BHSE: Tensor,
    queries: Packing,
    keys: Packing,
    *,
    dropout: float,
    is_causal: bool,
    scale: float,
) -> Tensor:
    """Return softmax(scale Q K^T) V within each sentence, [1, H, N, E], with zeros at padding.

    Args:
        q_BHTE: [1, H, N, E].
        k_BHSE: [1, H, N, E]; sentence p of the queries attends to sentence p of the keys.
        v_BHSE: like the keys.
        queries: where the sentences of the queries lie.
        keys: where those of the keys lie.
        dropout: of the attention weights.
        is_causal: no token attends to later ones.
        scale: factor of the scores.
    """
    options = AttentionOptions(queries, keys, dropout, is_causal, scale)
    kernel = kernel_for(q_BHTE.dtype, q_BHTE.size(-1)) if q_BHTE.is_cuda else None
    if kernel is None:
        return _plain(q_BHTE, k_BHSE, v_BHSE, options)
    # Both kernels read [N, H, E], the memory order of the projections.
    q_NHE, k_NHE, v_NHE = (x.squeeze(0).transpose(0, 1) for x in (q_BHTE, k_BHSE, v_BHSE))
    y_NHE: Tensor = kernel.apply(q_NHE, k_NHE, v_NHE, options)  # type: ignore[no-untyped-call]
    return y_NHE.transpose(0, 1).unsqueeze(0)


def _plain(q_BHTE: Tensor, k_BHSE: Tensor, v_BHSE: Tensor, options: AttentionOptions) -> Tensor:
    def padded(x_BHTE: Tensor, packing: Packing) -> Tensor:
        x_PLD = packing.unpack(x_BHTE.transpose(1, 2).flatten(2))
        return x_PLD.view(*x_PLD.shape[:2], x_BHTE.size(1), -1).transpose(1, 2)

    # Padding is on the right, so the causal mask hides it.
    queries, keys, dropout, is_causal, scale = options
    mask_P11L = None if is_causal else keys.mask_PL[:, None, None, :]
    y_PHLE = F.scaled_dot_product_attention(
        padded(q_BHTE, queries),
        padded(k_BHSE, keys),
        padded(v_BHSE, keys),
        attn_mask=mask_P11L,
        dropout_p=dropout,
        is_causal=is_causal,
        scale=scale,
    )
    y_BTD = queries.pack(y_PHLE.transpose(1, 2).flatten(2))
    return y_BTD.view(*y_BTD.shape[:2], q_BHTE.size(1), -1).transpose(1, 2)


class _Flash(torch.autograd.Function):
    # The kernels write nothing at tokens of no sentence, so what they leave there is overwritten with zeros.
    @staticmethod
    def forward(ctx: Any, q_NHE: Tensor, k_NHE: Tensor, v_NHE: Tensor, options: AttentionOptions) -> Tensor:
        queries, keys, dropout, is_causal, scale = options
        ctx.sizes = (queries.offsets, keys.offsets, queries.longest, keys.longest, dropout, is_causal)
        y_NHE, log_sum, *random, _ = aten._flash_attention_forward(q_NHE, k_NHE, v_NHE, *ctx.sizes, False, scale=scale)
        ctx.padding, ctx.scale = (queries.is_padding_N, keys.is_padding_N), scale
        _clear(y_NHE, ctx.padding[0])
        ctx.save_for_backward(q_NHE, k_NHE, v_NHE, y_NHE, log_sum, *random)
        return y_NHE  # type: ignore[no-any-return]

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        *saved, seed, unused = ctx.saved_tensors
        found = aten._flash_attention_backward(
            gradients[0].contiguous(), *saved, *ctx.sizes, seed, unused, scale=ctx.scale
        )
        return *_cleared(found, ctx.padding), None


class _MemoryEfficient(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, q_NHE: Tensor, k_NHE: Tensor, v_NHE: Tensor, options: AttentionOptions) -> Tensor:
        queries, keys, dropout, is_causal, scale = options
        offsets, longest = (queries.offsets, keys.offsets), (queries.longest, keys.longest)
        mask = FROM_TOP_LEFT if is_causal else 0
        parts = (x.unsqueeze(0) for x in (q_NHE, k_NHE, v_NHE))
        y_BNHE, log_sum, *random, _, _ = aten._efficient_attention_forward(
            *parts, None, *offsets, *longest, dropout, mask, True, scale=scale
        )
        ctx.sizes, ctx.dropout, ctx.mask = (*offsets, *longest), dropout, mask
        ctx.padding, ctx.scale = (queries.is_padding_N, keys.is_padding_N), scale
        _clear(y_BNHE.squeeze(0), ctx.padding[0])
        ctx.save_for_backward(q_NHE, k_NHE, v_NHE, y_BNHE, log_sum, *random)
        return y_BNHE.squeeze(0)  # type: ignore[no-any-return]

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        q_NHE, k_NHE, v_NHE, y_BNHE, log_sum, seed, offset = ctx.saved_tensors
        parts = (x.unsqueeze(0) for x in (gradients[0].contiguous(), q_NHE, k_NHE, v_NHE))
        *found, _ = aten._efficient_attention_backward(
            *parts, None, y_BNHE, *ctx.sizes, log_sum, ctx.dropout, seed, offset, ctx.mask, False, scale=ctx.scale
        )
        return *_cleared([x.squeeze(0) for x in found], ctx.padding), None


def _clear(x_NHE: Tensor, is_padding_N: Tensor) -> Tensor:
    return x_NHE.masked_fill_(is_padding_N.view(-1, 1, 1), 0)


def _cleared(gradients: Any, padding: tuple[Tensor, Tensor]) -> list[Tensor]:
    q_grad_NHE, k_grad_NHE, v_grad_NHE = gradients
    return [_clear(q_grad_NHE, padding[0]), _clear(k_grad_NHE, padding[1]), _clear(v_grad_NHE, padding[1])]


def kernel_for(dtype: torch.dtype, width: int) -> type[torch.autograd.Function] | None:
    """Return the kernel of a GPU for heads of a type and width; None: the plain form."""
    if dtype in (torch.bfloat16, torch.float16):
        return _Flash if width <= MAX_FLASH_WIDTH else _MemoryEfficient
    return _MemoryEfficient if dtype == torch.float32 else None
