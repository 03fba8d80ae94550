"""Classify the domain of a sentence from the states of its tokens."""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor, nn

from mdnmt.models.context import DomainContext, Side
from mdnmt.models.gradient_reversal import GradientLink, link_gradient
from mdnmt.models.projection import Linear


class AttentionPooling(nn.Module):
    """One vector per sentence: c = sum_t a_t x_t with a = softmax_t(v^T tanh(W x_t)), padding left out."""

    def __init__(self, model_dim: int) -> None:
        super().__init__()
        self.hidden = Linear(model_dim, model_dim, bias=False)
        self.score = Linear(model_dim, 1, bias=False)

    def forward(self, x_BTD: Tensor, mask_BT: Tensor) -> tuple[Tensor, Tensor]:
        """Return c [B, D] and a [B, T], which is 0 at padding and sums to 1 over a sentence."""
        scores_BT = self.score(self.hidden(x_BTD).tanh()).squeeze(-1)
        scores_BT = scores_BT if scores_BT.dtype == torch.float64 else scores_BT.float()
        attention_BT = scores_BT.masked_fill(~mask_BT, float("-inf")).softmax(-1)
        # There are far fewer sentences than tokens: the rest is cheap in full precision, also under autocast.
        with torch.autocast(x_BTD.device.type, enabled=False):
            x_BTD = x_BTD.to(attention_BT.dtype)
            return (attention_BT.unsqueeze(1) @ x_BTD).squeeze(1), attention_BT


class SentenceClassifier(nn.Module):
    """The domain classifier of MTL, AdvL and PAdvL (Britz et al. 2017; as in the code of Jiang et al. 2020).

    Attention pooling and a perceptron D -> D/2 -> D/4 -> D/8 -> K with PReLU. The link to the states lets its
    gradient pass (MTL), reverses it (AdvL) or reverses it for the first half of the features (PAdvL).
    """

    def __init__(self, model_dim: int, num_domains: int, *, side: Side, gradient: GradientLink) -> None:
        super().__init__()
        self.pooling = AttentionPooling(model_dim)
        widths = [max(1, model_dim // divisor) for divisor in (1, 2, 4, 8)]
        hidden = [layer for wide, narrow in pairwise(widths) for layer in (Linear(wide, narrow), nn.PReLU())]
        self.perceptron = nn.Sequential(*hidden, Linear(widths[-1], num_domains))
        self.side: Side = side
        self.gradient: GradientLink = gradient

    def forward(self, x_BTD: Tensor, mask_BT: Tensor, context: DomainContext) -> None:
        """Record the logits [B, K] of the sentences in `context`."""
        x_BTD, mask_BT = context.to_sentences(x_BTD, mask_BT)
        pooled_BD, _ = self.pooling(link_gradient(x_BTD, self.gradient), mask_BT)
        with torch.autocast(pooled_BD.device.type, enabled=False):
            context.record("sentence", self.side, self.perceptron(pooled_BD))
