"""The domain proportion of a token (Jiang et al. 2020, sec. 3.1)."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mdnmt.models.context import DomainContext, Side
from mdnmt.models.gradient_reversal import GradientLink, link_gradient
from mdnmt.models.projection import dtype_of_products


def smoothed(logits_BTK: Tensor, smoothing: float) -> Tensor:
    """Return D = (1 - eps) softmax(logits) + eps / k, [B, T, K]."""
    return (1.0 - smoothing) * logits_BTK.softmax(-1) + smoothing / logits_BTK.size(-1)


class DomainProportion(nn.Module):
    """D(x) of every token, from the input of a layer.

    By default input and output are both detached: only the loss on the recorded logits trains the classifier R, and
    that loss never reaches the Transformer (sec. 4.2, Fig. 5).
    """

    def __init__(
        self,
        model_dim: int,
        num_domains: int,
        *,
        smoothing: float,
        side: Side,
        input_link: GradientLink = "detach",
        weight_link_open: bool = False,
        frozen: bool = False,
    ) -> None:
        """Make the layer.

        Args:
            model_dim: width of x.
            num_domains: k.
            smoothing: eps.
            side: the side whose tokens x are.
            input_link: how the gradient of the loss on the logits reaches x (sec. 4.6, Fig. 10).
            weight_link_open: do not detach the output, so that the mixed projections train R as well.
            frozen: R keeps its initial values; they are saved as buffers and are not parameters.
        """
        super().__init__()
        self.classifier = nn.Linear(model_dim, num_domains)
        self.smoothing = smoothing
        self.side: Side = side
        self.input_link: GradientLink = input_link
        self.weight_link_open = weight_link_open
        bound = model_dim**-0.5
        nn.init.uniform_(self.classifier.weight, -bound, bound)
        nn.init.uniform_(self.classifier.bias, -bound, bound)
        if frozen:
            _make_buffers_of_parameters(self.classifier)

    def forward(self, x_BTD: Tensor, context: DomainContext) -> Tensor:
        """Return the proportion [B, T, K] and record the logits in `context`."""
        # Cast here once, not in each projection of the layer, unless the casts are part of the gradient.
        dtype = x_BTD.dtype if self.weight_link_open else dtype_of_products(x_BTD)
        # The loss takes logarithms of numbers that may be small, so float32 is used under autocast as well.
        with torch.autocast(x_BTD.device.type, enabled=False):
            weight, bias = self.classifier.weight, self.classifier.bias
            logits_BTK = F.linear(link_gradient(x_BTD, self.input_link).to(weight.dtype), weight, bias)
            context.record("proportion", self.side, logits_BTK)
            proportion_BTK = smoothed(logits_BTK, self.smoothing).to(dtype)
            return proportion_BTK if self.weight_link_open else proportion_BTK.detach()


def _make_buffers_of_parameters(module: nn.Module) -> None:
    for name, parameter in list(module.named_parameters(recurse=False)):
        delattr(module, name)
        module.register_buffer(name, parameter.detach())
