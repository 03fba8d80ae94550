"""Where the sentences of one side lie in a packed batch: one row of tokens, one sentence after the other.

A padded batch has as many shapes as there are combinations of lengths. A packed batch has a fixed number of tokens and
of places for sentences, so a GPU can record an update once and repeat it. Padding is at the end of the row: tokens of
no sentence, and places without one.

Letters: N tokens, P places for sentences, L tokens of the longest sentence that a place can hold, X any width.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor


@dataclass(frozen=True)
class Packing:
    """The places of the sentences of one side.

    Attributes:
        offsets: int32 [P + 1], where each sentence begins; the end of the last sentence is repeated for places without
            a sentence. Attention kernels for packed batches read it.
        position_BT: [1, N], the position of each token in its sentence; 0 at padding.
        slot_N: where each token lies in the flattened padded sentences [P * L]; -1 at padding.
        token_PL: which token lies in each slot of the padded sentences; -1 at padding.
        is_padding_N: True at tokens of no sentence.
    """

    offsets: Tensor
    position_BT: Tensor
    slot_N: Tensor
    token_PL: Tensor
    is_padding_N: Tensor

    @property
    def longest(self) -> int:
        """Return L."""
        return self.token_PL.size(1)

    @property
    def mask_PL(self) -> Tensor:
        """Return True at the tokens of the padded sentences; a place without a sentence has one token of zeros.

        So no softmax over the tokens of a sentence is empty.
        """
        return (self.token_PL >= 0).index_fill(1, self.token_PL.new_zeros(1), True)

    @property
    def sentence_N(self) -> Tensor:
        """Return the place of each token's sentence; 0 at padding."""
        return self.slot_N.clamp(min=0) // self.longest

    @property
    def length_P(self) -> Tensor:
        """Return the number of tokens of each sentence; 0 at places without one."""
        return self.offsets.diff()

    def unpack(self, x_BTX: Tensor) -> Tensor:
        """Return the packed row [1, N, X] as padded sentences [P, L, X], with zeros as padding."""
        x_SX: Tensor = _Rearranged.apply(x_BTX.squeeze(0), self.token_PL.flatten(), self.slot_N)  # type: ignore[no-untyped-call]
        return x_SX.view(*self.token_PL.shape, -1)

    def pack(self, x_PLX: Tensor) -> Tensor:
        """Return padded sentences [P, L, X] as the packed row [1, N, X], with zeros as padding."""
        x_NX: Tensor = _Rearranged.apply(x_PLX.flatten(0, 1), self.slot_N, self.token_PL.flatten())  # type: ignore[no-untyped-call]
        return x_NX.unsqueeze(0)

    def spread(self, value_PX: Tensor) -> Tensor:
        """Return the value of its sentence for each token, [1, N, X]; padding has that of the first place."""
        value_NX: Tensor = _Spread.apply(value_PX, self)  # type: ignore[no-untyped-call]
        return value_NX.unsqueeze(0)


class _Spread(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, value_PX: Tensor, packing: Packing) -> Tensor:
        ctx.packing = packing
        return value_PX.index_select(0, packing.sentence_N)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        return ctx.packing.unpack(gradients[0].unsqueeze(0)).sum(1), None


class _Rearranged(torch.autograd.Function):
    """Rows in another order; the derivative takes the inverse order, where that of torch's own would scatter."""

    @staticmethod
    def forward(ctx: Any, x_MX: Tensor, index_R: Tensor, inverse_M: Tensor) -> Tensor:
        ctx.save_for_backward(index_R, inverse_M)
        return _take(x_MX, index_R)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        return _take(gradients[0], ctx.saved_tensors[1]), None, None


def _take(x_MX: Tensor, index_R: Tensor) -> Tensor:
    return x_MX.index_select(0, index_R.clamp(min=0)).masked_fill_((index_R < 0).unsqueeze(1), 0)
