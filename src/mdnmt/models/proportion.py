"""The domain proportion of a word (Jiang et al. 2020, sec. 3.1)."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mdnmt.models.context import DomainContext, Side


def smoothed(logits_BTK: Tensor, smoothing: float) -> Tensor:
    """Return D = (1 - eps) softmax(logits) + eps / k, [B, T, K]."""
    return (1.0 - smoothing) * logits_BTK.softmax(-1) + smoothing / logits_BTK.size(-1)


class DomainProportion(nn.Module):
    """D(x) of every word, from the input of a layer.

    Neither what goes in nor what comes out lets a gradient through: only the loss on the recorded logits trains R, and
    R's errors never reach the Transformer (sec. 3.4, Fig. 5).
    """

    def __init__(self, model_dim: int, num_domains: int, *, smoothing: float, side: Side) -> None:
        super().__init__()
        self.classifier = nn.Linear(model_dim, num_domains)
        self.smoothing = smoothing
        self.side: Side = side
        bound = model_dim**-0.5
        nn.init.uniform_(self.classifier.weight, -bound, bound)
        nn.init.uniform_(self.classifier.bias, -bound, bound)

    def forward(self, x_BTD: Tensor, context: DomainContext) -> Tensor:
        """Return the proportion [B, T, K] and leave the logits in `context`."""
        # The loss takes logarithms of what may be small numbers: float32 also under autocast.
        with torch.autocast(x_BTD.device.type, enabled=False):
            weight, bias = self.classifier.weight, self.classifier.bias
            logits_BTK = F.linear(x_BTD.detach().to(weight.dtype), weight, bias)
            context.record("proportion", self.side, logits_BTK)
            return smoothed(logits_BTK, self.smoothing).detach().to(x_BTD.dtype)
