"""The weighted sum of experts on a CPU, computed for one piece of the tokens at a time.

The plain formula needs five buffers of all hidden states of all experts. They are larger than the blocks that glibc
reuses (32 MiB), so each is mapped again at every update and the operating system zeroes its pages. Pieces are smaller
and stay in the cache through several operators, and only the hidden states themselves are kept for the backward pass.

Shapes: M tokens, D width, N experts, F hidden states of each, E = N F.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from mdnmt.models.kernels.packed_dropout import draw_kept, keep

PIECE_ENTRIES = 1 << 22
# Products of fewer rows than this are slow, whatever the number of experts.
MIN_PIECE_ROWS = 128


def expert_sum(
    x_MD: Tensor, share_MN: Tensor, first_weight_ED: Tensor, first_bias_E: Tensor, second_weight_DE: Tensor, rate: float
) -> Tensor:
    """Return sum_n p_n W2_n dropout(max(W1_n x + b1_n, 0)), [M, D], with products in autocast's type if that is on.

    Args:
        x_MD: tokens.
        share_MN: the weight of each expert for each token.
        first_weight_ED: first maps of all experts, stacked.
        first_bias_E: their biases.
        second_weight_DE: second maps, side by side.
        rate: of dropout; 0: none.
    """
    if torch.is_autocast_enabled("cpu"):
        x_MD, share_MN = (one.to(torch.get_autocast_dtype("cpu")) for one in (x_MD, share_MN))
    found: Tensor = _ExpertSum.apply(  # type: ignore[no-untyped-call]
        x_MD, share_MN.to(x_MD.dtype), first_weight_ED, first_bias_E, second_weight_DE, rate
    )
    return found


class _ExpertSum(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x_MD: Tensor, share_MN: Tensor, first_ED: Tensor, bias_E: Tensor, second_DE: Tensor, rate: float
    ) -> Tensor:
        first_ED, bias_E, second_DE = (one.to(x_MD.dtype) for one in (first_ED, bias_E, second_DE))
        y_MD = torch.empty_like(x_MD)
        hidden, kept = list[Tensor](), list[Tensor | None]()
        for rows in _pieces(len(x_MD), len(bias_E)):
            hidden.append(torch.addmm(bias_E, x_MD[rows], first_ED.t()).relu_())
            kept.append(draw_kept(hidden[-1].shape, rate) if rate else None)
            torch.mm(_weighed(hidden[-1], share_MN[rows], kept[-1], rate), second_DE.t(), out=y_MD[rows])
        ctx.save_for_backward(x_MD, share_MN, first_ED, second_DE, *hidden, *kept)
        ctx.rate = rate
        return y_MD

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        x_MD, share_MN, first_ED, second_DE, *pieces = ctx.saved_tensors
        hidden, kept = pieces[: len(pieces) // 2], pieces[len(pieces) // 2 :]
        exact = torch.promote_types(x_MD.dtype, torch.float32)  # of the sums over pieces
        x_grad_MD, share_grad_MN = torch.empty_like(x_MD), torch.empty_like(share_MN)
        first_grad_ED, second_grad_DE = (torch.zeros_like(one, dtype=exact) for one in (first_ED, second_DE))
        bias_grad_E = torch.zeros_like(first_ED[:, 0], dtype=exact)
        for number, rows in enumerate(_pieces(len(x_MD), len(first_ED))):
            h_ME, kept_ME, share = hidden[number], kept[number], share_MN[rows]
            y_grad = gradients[0][rows]
            _add_product(second_grad_DE, y_grad.t(), _weighed(h_ME, share, kept_ME, ctx.rate))
            grad_ME = y_grad @ second_DE
            if kept_ME is not None:
                grad_ME = keep(grad_ME, kept_ME, ctx.rate)
            grad_ME = torch.ops.aten.threshold_backward(grad_ME, h_ME, 0)
            share_grad_MN[rows] = (grad_ME * h_ME).view(*share.shape, -1).sum(-1)
            grad_ME.view(*share.shape, -1).mul_(share.unsqueeze(-1))
            bias_grad_E += grad_ME.sum(0)
            _add_product(first_grad_ED, grad_ME.t(), x_MD[rows])
            torch.mm(grad_ME, first_ED, out=x_grad_MD[rows])
        return x_grad_MD, share_grad_MN, first_grad_ED, bias_grad_E, second_grad_DE, None


def _pieces(words: int, columns: int) -> Iterator[slice]:
    step = max(MIN_PIECE_ROWS, PIECE_ENTRIES // columns)
    return (slice(start, start + step) for start in range(0, words, step))


def _weighed(h_ME: Tensor, share_MN: Tensor, kept_ME: Tensor | None, rate: float) -> Tensor:
    weighed_ME = (h_ME.view(*share_MN.shape, -1) * share_MN.unsqueeze(-1)).flatten(1)
    return weighed_ME if kept_ME is None else keep(weighed_ME, kept_ME, rate)


def _add_product(total: Tensor, left: Tensor, right: Tensor) -> None:
    if total.dtype == left.dtype:
        total.addmm_(left, right)
    else:
        total += left @ right
