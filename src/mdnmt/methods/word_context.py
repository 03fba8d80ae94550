"""WDC and WL: word-level domain contexts and the weighted loss (Zeng et al. 2018), as Jiang et al. 2020 use them."""

from __future__ import annotations

from mdnmt.config.architectures.word_context import WordContextConfig
from mdnmt.methods.assembly import assemble
from mdnmt.methods.method import Method, VocabSizes
from mdnmt.models.losses import LabelSmoothedCrossEntropy, Loss
from mdnmt.models.sentence_loss import SentenceDomainLoss
from mdnmt.models.word_contexts import WordDomainContexts
from mdnmt.models.word_weights import WordWeights

config_type = WordContextConfig


def build(config: WordContextConfig, vocab: VocabSizes, num_domains: int) -> Method:
    """Build a Transformer with gated encoder states, a loss that weights tokens, or both."""
    bridge = None
    if config.word_contexts:
        bridge = WordDomainContexts(
            config.model_dim, num_domains, feature_dim=config.feature_dim, reversal=config.adversarial_weight
        )
    weighted = config.weighted_loss != "none"
    weights = WordWeights(config.model_dim, num_domains) if weighted else None
    model = assemble(config, vocab, bridge=bridge, classifiers={"decoder": weights} if weights else None)
    losses: list[Loss] = [
        LabelSmoothedCrossEntropy(
            config.label_smoothing, token_weighted=weighted, misaligned=config.weighted_loss == "misaligned"
        )
    ]
    if bridge or weights:
        losses.append(SentenceDomainLoss(["encoder", "decoder"], aux_norm=config.aux_norm))
    # WL's classifier sends no gradient to the Transformer; clipped apart, it cannot shrink the Transformer's update.
    return Method(model, losses, clip_apart=list(weights.parameters()) if weights else [], packs=True)
