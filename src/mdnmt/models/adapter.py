"""Adapters: a small bottleneck for each domain behind a layer that all domains share (Bapna and Firat 2019)."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mdnmt.models.context import DomainContext
from mdnmt.models.projection import MixedLinear
from mdnmt.models.residual import NormOrder, Residual


class DomainAdapters(nn.Module):
    """A bottleneck for each domain: x + U_d relu(W_d norm_d(x)), d being the domain of the sentence.

    U_d starts at zero, so that a new adapter changes nothing. A sentence of unknown domain passes unchanged.
    """

    def __init__(self, model_dim: int, bottleneck_dim: int, num_domains: int) -> None:
        """Make the adapters of one layer.

        Args:
            model_dim: D.
            bottleneck_dim: width of the hidden layer.
            num_domains: K.
        """
        super().__init__()
        self.norm_weight = nn.Parameter(torch.ones(num_domains, model_dim))
        self.norm_bias = nn.Parameter(torch.zeros(num_domains, model_dim))
        # Each sentence has the share 1 of its own domain, and 0 of all others.
        self.down = MixedLinear(model_dim, bottleneck_dim, num_domains=num_domains)
        self.up = MixedLinear(bottleneck_dim, model_dim, num_domains=num_domains)
        nn.init.zeros_(self.up.weight)

    def forward(self, x_BTD: Tensor, context: DomainContext) -> Tensor:
        """Return [B, T, D]."""
        if context.domain_B is None:
            return x_BTD
        domains_K = torch.arange(len(self.norm_weight), device=x_BTD.device)
        share_BK = (context.domain_B.unsqueeze(1) == domains_K).to(self.norm_weight.dtype)
        with torch.autocast(x_BTD.device.type, enabled=False):
            # A product, because the derivative of a lookup has to sort on a GPU.
            gain_BTD, bias_BTD = (
                context.to_tokens((share_BK @ value_KD).unsqueeze(1)) for value_KD in (self.norm_weight, self.norm_bias)
            )
            normed_BTD = F.layer_norm(x_BTD.to(gain_BTD.dtype), x_BTD.shape[-1:]) * gain_BTD + bias_BTD
        share_BTK = context.to_tokens(share_BK.unsqueeze(1)).expand(-1, x_BTD.size(1), -1)
        own = context.with_proportion(share_BTK)
        return x_BTD + self.up(F.relu(self.down(normed_BTD, own)), own)  # type: ignore[no-any-return]


class AdaptedResidual(Residual):
    """The residual connection around the last block of a layer, followed by the adapters of the domains."""

    def __init__(self, model_dim: int, *, norm_order: NormOrder, dropout: float, adapters: DomainAdapters) -> None:
        super().__init__(model_dim, norm_order=norm_order, dropout=dropout)
        self.adapters = adapters

    def forward(self, x_BTD: Tensor, block: Callable[[Tensor], Tensor], context: DomainContext | None = None) -> Tensor:
        """Return [B, T, D]."""
        assert context is not None, "the adapters read the domain"
        return self.adapters(super().forward(x_BTD, block, context), context)  # type: ignore[no-any-return]
