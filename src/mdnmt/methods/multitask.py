"""MTL, AdvL and PAdvL: a domain classifier on the encoder's output (Britz et al. 2017; rows of Jiang et al. 2020)."""

from __future__ import annotations

from mdnmt.config.architectures.multitask import MultitaskConfig
from mdnmt.methods.assembly import assemble
from mdnmt.methods.method import Method, VocabSizes
from mdnmt.models.losses import LabelSmoothedCrossEntropy
from mdnmt.models.sentence_classifier import SentenceClassifier
from mdnmt.models.sentence_loss import SentenceDomainLoss

config_type = MultitaskConfig


def build(config: MultitaskConfig, vocab: VocabSizes, num_domains: int) -> Method:
    """Build a plain Transformer whose encoder is trained together with a domain classifier of sentences."""
    classifier = SentenceClassifier(config.model_dim, num_domains, side="encoder", gradient=config.gradient)
    return Method(
        assemble(config, vocab, classifiers={"encoder": classifier}),
        [LabelSmoothedCrossEntropy(config.label_smoothing), SentenceDomainLoss(["encoder"], aux_norm=config.aux_norm)],
        packs=True,
    )
