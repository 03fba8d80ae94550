"""The position-wise feed-forward block (Vaswani et al. 2017, sec. 3.3)."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn

from mdnmt.models.context import DomainContext
from mdnmt.models.dropout import dropout
from mdnmt.models.projection import ProjectionFactory


class FeedForward(nn.Module):
    """Second(ReLU(First(x))); mixed projections mix before the non-linearity and again after it."""

    def __init__(self, model_dim: int, ffn_dim: int, *, projection: ProjectionFactory, dropout: float = 0.0) -> None:
        super().__init__()
        self.first = projection(model_dim, ffn_dim)
        self.second = projection(ffn_dim, model_dim)
        self.dropout = dropout

    def forward(self, x_BTD: Tensor, context: DomainContext | None = None) -> Tensor:
        """Return [B, T, D]."""
        hidden_BTF = F.relu(self.first(x_BTD, context))
        hidden_BTF = dropout(hidden_BTF, self.dropout, self.training)
        return self.second(hidden_BTF, context)  # type: ignore[no-any-return]
