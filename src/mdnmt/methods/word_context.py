"""WDC and WL: word-level domain contexts and the weighted loss (Zeng et al. 2018), as Jiang et al. 2020 use them."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from mdnmt.methods.assembly import assemble
from mdnmt.methods.method import Architecture, Method, VocabSizes
from mdnmt.models.losses import LabelSmoothedCrossEntropy, Loss
from mdnmt.models.sentence_loss import SentenceDomainLoss
from mdnmt.models.word_contexts import WordDomainContexts
from mdnmt.models.word_weights import WordWeights


class WordContextConfig(Architecture):
    """Options of WDC and WL; either can be used alone."""

    word_contexts: bool = Field(True, description="WDC: domain-specific and shared encoder states through gates")
    feature_dim: int = Field(
        300, gt=0, le=16_384, description="width of the sentence vectors that open the gates (Zeng et al.)"
    )
    adversarial_weight: float = Field(0.1, ge=0, description="lambda: of the reversed gradient in the shared branch")
    weighted_loss: Literal["none", "aligned", "misaligned"] = Field(
        "none",
        description="WL: word j counts 1 + alpha_j; misaligned: alpha on the words the released code gives it to",
    )
    aux_norm: Literal["text", "code"] = Field(
        "text", description="domain losses as sums over sentences, or as the code's mean"
    )


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
    return Method(model, losses, clip_apart=list(weights.parameters()) if weights else [])
