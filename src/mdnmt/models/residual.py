"""The residual connection around a block, with the layer norm before it or after it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from torch import Tensor, nn

from mdnmt.models.context import DomainContext
from mdnmt.models.dropout import dropout

NormOrder = Literal["pre", "post"]
# -> a module called with (x [B, T, D], block, context) that offers `is_skipped(context)`, as `Residual` does
ResidualFactory = Callable[[], nn.Module]


class Residual(nn.Module):
    """pre: x + block(norm(x)); post: norm(x + block(x)) (Jiang et al. 2020, Fig. 11: the two variants)."""

    def __init__(self, model_dim: int, *, norm_order: NormOrder, dropout: float) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(model_dim)
        self.norm_order = norm_order
        self.dropout = dropout

    def is_skipped(self, context: DomainContext) -> bool:
        """Return whether the block will not be called for any sentence of the batch."""
        return False

    def forward(self, x_BTD: Tensor, block: Callable[[Tensor], Tensor], context: DomainContext | None = None) -> Tensor:
        """Return [B, T, D]."""
        if self.norm_order == "pre":
            return x_BTD + dropout(block(self.norm(x_BTD)), self.dropout, self.training)
        return self.norm(x_BTD + dropout(block(x_BTD), self.dropout, self.training))  # type: ignore[no-any-return]
