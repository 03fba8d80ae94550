"""Word-level domain contexts: the domain-specific and the shared part of each source state (Zeng et al. 2018)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from mdnmt.models.context import DomainContext
from mdnmt.models.gradient_reversal import reverse_gradient
from mdnmt.models.projection import Linear
from mdnmt.models.sentence_classifier import AttentionPooling


class DomainBranch(nn.Module):
    """A gate on every token, computed from a vector f of its sentence, which a domain classifier also reads.

    f = tanh(U c + u) with c the pooled states; G_t = sigmoid(A f + B h_t + b); H_t = G_t * h_t. With a `reversal` the
    branch learns to hide the domain: its classifier gets the plain gradient, what precedes it -reversal times that.
    """

    def __init__(self, model_dim: int, num_domains: int, *, feature_dim: int, reversal: float | None = None) -> None:
        super().__init__()
        self.pooling = AttentionPooling(model_dim)
        self.feature = Linear(model_dim, feature_dim)
        self.classifier = Linear(feature_dim, num_domains)
        self.feature_gate = Linear(feature_dim, model_dim, bias=False)
        self.word_gate = Linear(model_dim, model_dim)
        self.reversal = reversal

    def forward(self, h_BSD: Tensor, mask_BS: Tensor, context: DomainContext) -> Tensor:
        """Return the gated states [B, S, D] and record the logits [B, K] in `context`."""
        pooled_BD, _ = self.pooling(*context.to_sentences(h_BSD, mask_BS))
        with torch.autocast(pooled_BD.device.type, enabled=False):
            feature_BF = self.feature(pooled_BD).tanh()
            read_BF = feature_BF if self.reversal is None else reverse_gradient(feature_BF, strength=self.reversal)
            context.record("sentence", "encoder", self.classifier(read_BF))
        of_sentence_B1D = context.to_tokens(self.feature_gate(feature_BF).unsqueeze(1))
        gate_BSD: Tensor = (of_sentence_B1D + self.word_gate(h_BSD)).sigmoid()
        return gate_BSD * h_BSD


class WordDomainContexts(nn.Module):
    """Concatenates both gated forms of the encoder's output and projects them to its width (Jiang et al. 2020, 4.2)."""

    def __init__(self, model_dim: int, num_domains: int, *, feature_dim: int, reversal: float) -> None:
        """Make the two branches.

        Args:
            model_dim: D.
            num_domains: K.
            feature_dim: width of the sentence vectors f.
            reversal: weight of the adversarial loss in the shared branch.
        """
        super().__init__()
        self.specific = DomainBranch(model_dim, num_domains, feature_dim=feature_dim)
        self.shared = DomainBranch(model_dim, num_domains, feature_dim=feature_dim, reversal=reversal)
        self.reduce = Linear(2 * model_dim, model_dim)

    def forward(self, h_BSD: Tensor, mask_BS: Tensor, context: DomainContext) -> Tensor:
        """Return [B, S, D]; the specific branch records its logits before the shared one."""
        specific_BSD = self.specific(h_BSD, mask_BS, context)
        shared_BSD = self.shared(h_BSD, mask_BS, context)
        return self.reduce(torch.cat([specific_BSD, shared_BSD], dim=-1))  # type: ignore[no-any-return]
