"""How much each target token reveals its domain: the weights of the loss WL (Jiang et al. 2020, sec. 4.2)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from mdnmt.models.context import DomainContext
from mdnmt.models.projection import Linear
from mdnmt.models.sentence_classifier import AttentionPooling


class WordWeights(nn.Module):
    """A domain classifier on the decoder's last states; its attention alpha_j is the weight of token j.

    Its input is detached: its loss trains only the classifier, and alpha is a constant for L_gen.
    """

    def __init__(self, model_dim: int, num_domains: int) -> None:
        super().__init__()
        self.pooling = AttentionPooling(model_dim)
        self.activation = nn.PReLU()
        self.output = Linear(model_dim, num_domains)

    def forward(self, x_BTD: Tensor, mask_BT: Tensor, context: DomainContext) -> None:
        """Record the logits [B, K] of the sentences and alpha [B, T] in `context`."""
        pooled_BD, alpha_BT = self.pooling(*context.to_sentences(x_BTD.detach(), mask_BT))
        with torch.autocast(pooled_BD.device.type, enabled=False):
            context.record("sentence", "decoder", self.output(self.activation(pooled_BD)))
        context.record("word_weight", "decoder", context.from_sentences(alpha_BT.detach()))
