"""The output layer fused with label-smoothed cross-entropy; in pieces, so that the full logits are never in memory."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from mdnmt.models.kernels import takes_triton_kernel
from mdnmt.models.projection import dtype_of_products

# Entries of one piece of the logits. On a CPU: few enough for its caches, and enough to keep it busy. Elsewhere: few
# kernel launches, and at most 256 MiB for each of the four float32 buffers of a piece. The size does not depend on the
# card's memory, so that all cards of one kind round alike.
PIECE_ENTRIES = {"cpu": 1 << 20}
PIECE_ENTRIES_ELSEWHERE = 1 << 26
# The logits are padded to a multiple of this many columns, because the matrix units of a GPU work on such tiles.
VOCAB_MULTIPLE = {"cpu": 1}
VOCAB_MULTIPLE_ELSEWHERE = 64
# Products with fewer rows than this are slow, whatever the size of the vocabulary.
MIN_PIECE_ROWS = 128


def piece_rows(device: torch.device, vocab_size: int) -> int:
    """Return how many target tokens have their logits in memory at a time."""
    return max(MIN_PIECE_ROWS, PIECE_ENTRIES.get(device.type, PIECE_ENTRIES_ELSEWHERE) // vocab_size)


def vocab_padding(device: torch.device, vocab_size: int) -> int:
    """Return how many columns are added to the logits; they change no result."""
    return -vocab_size % VOCAB_MULTIPLE.get(device.type, VOCAB_MULTIPLE_ELSEWHERE)


class _LinearCrossEntropy(torch.autograd.Function):
    # torch's own loss keeps several buffers of [N, V] and reads and writes each of them. In a small model this memory
    # traffic takes longer than the matrix products. Here the gradient is computed while a piece is in the cache.
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
    ) -> Tensor:
        vocab_size = weight_VD.size(0)
        wants_gradient = any(ctx.needs_input_grad[:2])
        hidden_grad_ND = torch.empty_like(hidden_ND)
        weight_grad_VD = torch.zeros_like(weight_VD)
        # Cast the factors once; autocast would cast them again for every product of every piece.
        dtype = dtype_of_products(hidden_ND)
        # Letter P: the vocabulary with its padding.
        padding = vocab_padding(hidden_ND.device, vocab_size)
        factor_ND, factor_PD = hidden_ND.to(dtype), weight_VD.to(dtype)
        if padding:
            factor_PD = F.pad(factor_PD, (0, 0, 0, padding))
        total = hidden_ND.new_zeros((), dtype=torch.float64)
        uniform_share_N1: float | Tensor = label_smoothing
        for start in range(0, hidden_ND.size(0), piece):
            h_ND, label_N1 = factor_ND[start : start + piece], label_N[start : start + piece].unsqueeze(1)
            logits_NP = h_ND @ factor_PD.t()
            logits_NP = logits_NP if logits_NP.dtype == torch.float64 else logits_NP.float()
            logits_NV = logits_NP[:, :vocab_size]
            # The exponentials are taken once, in place: log p_v = logit_v - log sum exp, and the gradient needs p_v.
            logits_NV.sub_(logits_NV.amax(1, keepdim=True))
            label_logit_N1, mean_logit_N1 = logits_NV.gather(1, label_N1), logits_NV.mean(1, keepdim=True)
            exp_NV = logits_NV.exp_()
            sum_exp_N1 = exp_NV.sum(1, keepdim=True)
            log_sum_exp_N1 = sum_exp_N1.log()
            nll_N1 = log_sum_exp_N1 - label_logit_N1
            true_share_N1 = torch.full_like(nll_N1, 1.0 - label_smoothing)
            if token_weight_N is not None:
                nll_N1 *= token_weight_N[start : start + piece].unsqueeze(1)
                true_share_N1 *= token_weight_N[start : start + piece].unsqueeze(1)
            uniform_N1 = log_sum_exp_N1 - mean_logit_N1
            if mask_N is not None:
                mask_N1 = mask_N[start : start + piece].unsqueeze(1).to(nll_N1.dtype)
                nll_N1, true_share_N1, uniform_N1 = nll_N1 * mask_N1, true_share_N1 * mask_N1, uniform_N1 * mask_N1
                uniform_share_N1 = label_smoothing * mask_N1
            total += (1.0 - label_smoothing) * nll_N1.double().sum() + label_smoothing * uniform_N1.double().sum()
            if token_loss_N is not None:
                torch.lerp(nll_N1, uniform_N1, label_smoothing, out=token_loss_N[start : start + piece].unsqueeze(1))
            if wants_gradient:
                # d loss / d logit_v = (s + e) p_v - e / V - s [v = label], s = (1 - e) w: without weights, s + e = 1
                plain = token_weight_N is None and mask_N is None
                scale_N1 = (1.0 if plain else true_share_N1 + uniform_share_N1) / sum_exp_N1
                exp_NV.mul_(scale_N1).sub_(uniform_share_N1 / vocab_size).scatter_add_(1, label_N1, -true_share_N1)
                if padding:
                    logits_NP[:, vocab_size:] = 0.0
                gradient_NP = logits_NP.to(dtype)  # the gradient: all operations above were in place
                hidden_grad_ND[start : start + piece] = gradient_NP @ factor_PD
                weight_grad_VD += (gradient_NP.t() @ h_ND)[:vocab_size]
        if wants_gradient:
            ctx.save_for_backward(hidden_grad_ND, weight_grad_VD)
        return total if hidden_ND.dtype == torch.float64 else total.float()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        hidden_grad_ND, weight_grad_VD = ctx.saved_tensors
        return hidden_grad_ND * gradients[0], weight_grad_VD * gradients[0], None, None, None, None, None, None


def linear_cross_entropy(
    hidden_ND: Tensor,
    weight_VD: Tensor,
    label_N: Tensor,
    label_smoothing: float = 0.0,
    token_weight_N: Tensor | None = None,
    token_loss_N: Tensor | None = None,
    mask_N: Tensor | None = None,
) -> Tensor:
    """Return the label-smoothed cross-entropy of softmax(hidden W^T), summed over tokens: a scalar.

    For each token it is (1 - e) w NLL + e / V times the sum of -log p over the vocabulary, the true token included. The
    token's weight w is a constant, 1 by default. `token_loss_N` is overwritten with these losses, without gradient. The
    result is float64 if `hidden_ND` is, else float32. The loss of tokens where `mask_N` is False is 0; None: there are
    none.
    """
    piece = piece_rows(hidden_ND.device, weight_VD.size(0))
    if takes_triton_kernel(hidden_ND):
        from mdnmt.models.kernels.fused_loss import FusedLinearCrossEntropy  # needs Triton

        fused: Tensor = FusedLinearCrossEntropy.apply(  # type: ignore[no-untyped-call]
            *(hidden_ND, weight_VD, label_N, label_smoothing, token_weight_N, token_loss_N, mask_N, piece),
            vocab_padding(hidden_ND.device, weight_VD.size(0)),
            dtype_of_products(hidden_ND),
        )
        return fused
    loss: Tensor = _LinearCrossEntropy.apply(  # type: ignore[no-untyped-call]
        hidden_ND, weight_VD, label_N, label_smoothing, token_weight_N, token_loss_N, mask_N, piece
    )
    return loss
