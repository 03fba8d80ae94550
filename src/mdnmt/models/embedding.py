"""Token embeddings with sinusoidal positions (Vaswani et al. 2017, sec. 3.4 and 3.5)."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mdnmt.models.dropout import dropout


def sinusoidal_positions(num_positions: int, model_dim: int, first: int = 0) -> Tensor:
    """Return the vectors of positions `first` and later, [num_positions, D]: sines in the first half, then cosines."""
    half = model_dim // 2
    rate = torch.exp(torch.arange(half, dtype=torch.float64) * (-math.log(10000.0) / max(1, half - 1)))
    angle = torch.arange(first, first + num_positions, dtype=torch.float64).unsqueeze(1) * rate
    table = torch.cat([angle.sin(), angle.cos()], dim=1)
    return F.pad(table, (0, model_dim - table.size(1))).float()


class Embedding(nn.Module):
    """x_t = dropout(sqrt(D) E[w_t] + position_t)."""

    position_table: Tensor

    def __init__(
        self,
        vocab_size: int,
        model_dim: int,
        *,
        dropout: float,
        max_positions: int,
        first_position: int = 0,
        padding_id: int = 0,
    ) -> None:
        super().__init__()
        self.padding_id = padding_id
        self.max_positions = max_positions
        self.scale = math.sqrt(model_dim)
        self.dropout = dropout
        self.weight = nn.Parameter(torch.empty(vocab_size, model_dim))
        nn.init.normal_(self.weight, std=model_dim**-0.5)
        with torch.no_grad():
            self.weight[padding_id].zero_()
        # The table follows from the configuration, so it is not saved; on the meta device only its shape matters.
        if self.weight.is_meta:
            table = torch.empty(max_positions, model_dim)
        else:
            table = sinusoidal_positions(max_positions, model_dim, first_position)
        self.register_buffer("position_table", table, persistent=False)

    def forward(self, ids_BT: Tensor, start: int | Tensor = 0) -> Tensor:
        """Return [B, T, D] for tokens at positions start, start + 1, ... of their sentences, or at positions [B, T]."""
        return self.place(F.embedding(ids_BT, self.weight, padding_idx=self.padding_id), start)

    def place(self, vectors_BTD: Tensor, start: int | Tensor = 0) -> Tensor:
        """Return rows of the embedding table, scaled, with their positions added and dropout applied."""
        x_BTD = vectors_BTD * self.scale
        positions = start if isinstance(start, Tensor) else slice(start, start + x_BTD.size(1))
        x_BTD = x_BTD + self.position_table[positions].to(x_BTD.dtype)
        return dropout(x_BTD, self.dropout, self.training)
