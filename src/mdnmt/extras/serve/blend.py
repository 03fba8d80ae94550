"""Make a model translate for a blend of two domains.

The blend is our own intervention; no paper does it. It is possible for methods that read a vector of the domain
(DomainTag, DMoE), which becomes a weighted mean of two, and for methods that mix by proportions (WALDM), which become
the same for every token.
"""

from __future__ import annotations

import copy

import torch
from torch import Tensor, nn

from mdnmt.models.context import DomainContext
from mdnmt.models.domain_tag import DomainTag
from mdnmt.models.gate import DomainEmbedding
from mdnmt.models.proportion import DomainProportion
from mdnmt.models.transformer import Transformer

WITH_BLEND = (DomainTag, DomainEmbedding, DomainProportion)


class _GivenProportion(nn.Module):
    """Replaces a `DomainProportion` by the same proportion for every token; the predicted one is still recorded."""

    def __init__(self, predicted: DomainProportion, share_K: Tensor) -> None:
        super().__init__()
        self.predicted = predicted
        smoothing = predicted.smoothing
        self.share_K = (1.0 - smoothing) * share_K + smoothing / share_K.numel()

    def forward(self, x_BTD: Tensor, context: DomainContext) -> Tensor:
        """Return the proportion, [B, T, K]."""
        predicted_BTK: Tensor = self.predicted(x_BTD, context)
        return self.share_K.to(predicted_BTK.dtype).expand_as(predicted_BTK)


def can_blend(model: Transformer) -> bool:
    """Return whether a model has a place where two domains can be blended."""
    return any(isinstance(module, WITH_BLEND) for module in model.modules())


def blended(model: Transformer, first: int, second: int, share: float) -> Transformer:
    """Return a model that shares the parameters of `model` and has one more domain label, after the others.

    Under that label a sentence belongs to domain `first` by 1 - share and to `second` by share.
    """
    changed: dict[int, nn.Module] = {}  # a module that occurs in several places is replaced once

    def change(module: nn.Module) -> nn.Module:
        if id(module) not in changed:
            if isinstance(module, DomainProportion):
                share_K = torch.zeros(module.classifier.out_features, device=module.classifier.weight.device)
                share_K[first] += 1.0 - share
                share_K[second] += share
                new: nn.Module = _GivenProportion(module, share_K)
            else:
                new = copy.copy(module)
                if isinstance(module, DomainTag | DomainEmbedding):
                    weight_KD = module.weight.detach()
                    row_D = (1.0 - share) * weight_KD[first] + share * weight_KD[second]
                    new._parameters = {"weight": nn.Parameter(torch.cat([weight_KD, row_D[None]]))}
                new._modules = {name: part and change(part) for name, part in module._modules.items()}
            changed[id(module)] = new
        return changed[id(module)]

    new = change(model)
    assert isinstance(new, Transformer)
    return new
