"""DomainTag: the gold domain as one more source token (Zhang et al. 2021, sec. 5.3, after Tars and Fishel 2018)."""

from __future__ import annotations

from mdnmt.config.architectures.domain_tag import DomainTagConfig
from mdnmt.methods.assembly import assemble
from mdnmt.methods.method import Method, VocabSizes
from mdnmt.models.domain_tag import DomainTag
from mdnmt.models.losses import LabelSmoothedCrossEntropy

config_type = DomainTagConfig


def build(config: DomainTagConfig, vocab: VocabSizes, num_domains: int) -> Method:
    """Build a Transformer that reads the domain label of every sentence, in training and in translation."""
    tag = DomainTag(config.model_dim, num_domains, position=config.tag_position)
    model = assemble(config, vocab, domain_tag=tag)
    return Method(model, [LabelSmoothedCrossEntropy(config.label_smoothing)], needs_domain=True)
