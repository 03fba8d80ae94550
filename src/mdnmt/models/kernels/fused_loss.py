"""The output layer's cross-entropy on a GPU: between the matrix products, one Triton kernel for each piece of logits.

The plain form reads and writes the logits of a piece in about twenty operators. This kernel reads a row twice and then
writes its gradient over the logits, which keep the type of the matrix products. Nothing is added atomically and each
sum has a fixed order, so the same input gives the same bits.

Importing this module needs Triton; `linear_cross_entropy` has the plain form. No GPU has run the
kernel yet: a CPU ran it in Triton's interpreter, and it compiles for compute capabilities 8.0 and 9.0.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
import triton
import triton.language as tl
from torch import Tensor

BLOCK = 4096  # columns of the logits that a program has in registers at a time
WARPS = 8


def _row(
    logit_ptr: tl.tensor,
    label_ptr: tl.tensor,
    weight_ptr: tl.tensor,
    mask_ptr: tl.tensor,
    loss_ptr: tl.tensor,
    start: tl.tensor,
    vocab_size: tl.tensor,
    num_columns: tl.tensor,
    label_smoothing: tl.tensor,
    HAS_WEIGHT: tl.constexpr,
    HAS_MASK: tl.constexpr,
    WANTS_GRADIENT: tl.constexpr,
    BLOCK: tl.constexpr,
) -> None:
    # Program p has row p of the piece, which is token start + p of the batch.
    row = tl.program_id(0)
    token = start + row
    logit_ptr += row * num_columns
    label = tl.load(label_ptr + token)
    # Exponentials are relative to the largest logit so far; sums move along when a larger one comes.
    largest = float("-inf")
    sum_exp = 0.0
    total = 0.0
    label_logit = 0.0
    for first in range(0, vocab_size, BLOCK):
        column = first + tl.arange(0, BLOCK)
        is_word = column < vocab_size
        # The bound is a multiple of 16, unlike the size of the vocabulary, so several columns are loaded at once.
        logit = tl.load(logit_ptr + column, mask=column < num_columns, other=0.0).to(tl.float32)
        logit = tl.where(is_word, logit, float("-inf"))
        before = largest
        largest = tl.maximum(before, tl.max(logit, 0))
        sum_exp = sum_exp * tl.exp(before - largest) + tl.sum(tl.exp(logit - largest), 0)
        total += tl.sum(tl.where(is_word, logit, 0.0), 0)
        label_logit += tl.sum(tl.where(column == label, logit, 0.0), 0)
    log_sum_exp = tl.log(sum_exp)
    true_share = 1.0 - label_smoothing
    uniform_share = label_smoothing
    if HAS_WEIGHT:
        true_share *= tl.load(weight_ptr + token).to(tl.float32)
    if HAS_MASK:
        is_counted = tl.load(mask_ptr + token).to(tl.float32)
        true_share *= is_counted
        uniform_share *= is_counted
    loss = true_share * (log_sum_exp - (label_logit - largest))
    loss += uniform_share * (log_sum_exp - (total / vocab_size - largest))
    tl.store(loss_ptr + token, loss)
    if WANTS_GRADIENT:
        # d loss / d logit_v = (s + u) p_v - u / V - s [v = label], s the share of the label, u of the uniform part
        scale = (true_share + uniform_share) / sum_exp
        for first in range(0, num_columns, BLOCK):
            column = first + tl.arange(0, BLOCK)
            is_column = column < num_columns
            logit = tl.load(logit_ptr + column, mask=is_column, other=0.0).to(tl.float32)
            gradient = tl.exp(logit - largest) * scale - uniform_share / vocab_size
            gradient -= tl.where(column == label, true_share, 0.0)
            tl.store(logit_ptr + column, tl.where(column < vocab_size, gradient, 0.0), mask=is_column)


# Pointers into a batch and the number of the first token differ between pieces and batches; another kernel for each
# alignment would have to be compiled, possibly while a CUDA graph is recorded.
_UNSPECIALISED = ["label_ptr", "weight_ptr", "mask_ptr", "loss_ptr", "start"]
_kernel = triton.jit(do_not_specialize=_UNSPECIALISED, do_not_specialize_on_alignment=_UNSPECIALISED)(_row)


class FusedLinearCrossEntropy(torch.autograd.Function):
    """The plain form's loss, for products in float32, bfloat16 or float16."""

    # Letter P: the vocabulary with its padding.
    @staticmethod
    def forward(
        ctx: Any,
        hidden_ND: Tensor,
        weight_VD: Tensor,
        label_N: Tensor,
        label_smoothing: float,
        token_weight_N: Tensor | None,
        token_loss_N: Tensor | None,
        mask_N: Tensor | None,
        piece: int,
        padding: int,
        dtype: torch.dtype,
    ) -> Tensor:
        """Return the loss summed over tokens; in forward, the gradients are computed as well.

        Args:
            ctx: of autograd.
            hidden_ND: as in `linear_cross_entropy`, like all that is not listed here.
            weight_VD: the output weights.
            label_N: the ids to predict.
            label_smoothing: e.
            token_weight_N: constants, or None.
            token_loss_N: float32; overwritten.
            mask_N: True at tokens that count, or None.
            piece: how many tokens have their logits in memory at a time.
            padding: number of columns that are added to the logits.
            dtype: of the matrix products.
        """
        vocab_size, num_tokens = weight_VD.size(0), hidden_ND.size(0)
        wants_gradient = any(ctx.needs_input_grad[:2])
        factor_ND, factor_PD = hidden_ND.to(dtype), weight_VD.to(dtype)
        if padding:
            factor_PD = F.pad(factor_PD, (0, 0, 0, padding))
        if token_loss_N is None:
            token_loss_N = torch.empty(num_tokens, device=hidden_ND.device)
        hidden_grad_ND = torch.empty_like(factor_ND) if wants_gradient else None
        weight_grad_VD = torch.zeros_like(weight_VD) if wants_gradient else None
        # The kernel reads neither weights nor mask where there are none, but needs a pointer.
        inputs = [label_N.contiguous(), *(label_N if x is None else x.contiguous() for x in (token_weight_N, mask_N))]
        options = {
            "HAS_WEIGHT": token_weight_N is not None,
            "HAS_MASK": mask_N is not None,
            "WANTS_GRADIENT": wants_gradient,
            "BLOCK": min(BLOCK, triton.next_power_of_2(vocab_size)),
            "num_warps": WARPS,
        }
        sizes = (vocab_size, vocab_size + padding, label_smoothing)
        for start in range(0, num_tokens, piece):
            h_ND = factor_ND[start : start + piece]
            logits_NP = h_ND @ factor_PD.t()
            with torch.cuda.device_of(h_ND):  # type: ignore[no-untyped-call]
                _kernel[(len(h_ND),)](logits_NP, *inputs, token_loss_N, start, *sizes, **options)
            if hidden_grad_ND is not None and weight_grad_VD is not None:
                torch.mm(logits_NP, factor_PD, out=hidden_grad_ND[start : start + piece])
                weight_grad_VD += (logits_NP.t() @ h_ND)[:vocab_size]
        if hidden_grad_ND is not None and weight_grad_VD is not None:
            ctx.save_for_backward(hidden_grad_ND.to(hidden_ND.dtype), weight_grad_VD)
        return token_loss_N.sum(dtype=torch.float64).float()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradients with respect to hidden states and output weights."""
        hidden_grad_ND, weight_grad_VD = ctx.saved_tensors
        return hidden_grad_ND * gradients[0], weight_grad_VD * gradients[0], *[None] * 8
