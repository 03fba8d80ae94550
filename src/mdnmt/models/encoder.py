"""The encoder: layers of self-attention and feed-forward blocks."""

from __future__ import annotations

from collections.abc import Iterable

from torch import Tensor, nn

from mdnmt.models.attention import key_mask
from mdnmt.models.context import DomainContext
from mdnmt.models.residual import NormOrder, ResidualFactory


class EncoderLayer(nn.Module):
    """One layer; a conditioner, if there is one, computes the proportions for all its projections."""

    def __init__(
        self, attention: nn.Module, ffn: nn.Module, *, residual: ResidualFactory, conditioner: nn.Module | None = None
    ) -> None:
        super().__init__()
        self.attention = attention
        self.ffn = ffn
        self.attention_residual = residual()
        self.ffn_residual = residual()
        self.conditioner = conditioner

    def forward(self, x_BSD: Tensor, mask_B11S: Tensor, context: DomainContext) -> Tensor:
        """Return [B, S, D]."""
        # The proportion comes from the layer's input, before any norm: one per token and layer.
        if self.conditioner is not None:
            context = context.with_proportion(self.conditioner(x_BSD, context))

        def attend(h_BSD: Tensor) -> Tensor:
            return self.attention(h_BSD, context, mask_B11S=mask_B11S)  # type: ignore[no-any-return]

        x_BSD = self.attention_residual(x_BSD, attend, context)
        return self.ffn_residual(x_BSD, lambda h_BSD: self.ffn(h_BSD, context), context)  # type: ignore[no-any-return]


class Encoder(nn.Module):
    """A stack of layers, with a final norm if the layers are pre-norm."""

    def __init__(self, layers: Iterable[EncoderLayer], *, model_dim: int, norm_order: NormOrder) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.norm = nn.LayerNorm(model_dim) if norm_order == "pre" else None

    def forward(self, x_BSD: Tensor, mask_BS: Tensor, context: DomainContext) -> Tensor:
        """Return the encoder's output, [B, S, D]."""
        mask_B11S = key_mask(mask_BS, x_BSD)
        for layer in self.layers:
            x_BSD = layer(x_BSD, mask_B11S, context)
        return self.norm(x_BSD) if self.norm is not None else x_BSD
