"""The plain Transformer (Vaswani et al. 2017): the single-domain, mixed, enlarged and big rows of the tables."""

from __future__ import annotations

from mdnmt.methods.assembly import assemble
from mdnmt.methods.method import Architecture, Method, VocabSizes
from mdnmt.models.losses import LabelSmoothedCrossEntropy

config_type = Architecture


def build(config: Architecture, vocab: VocabSizes, num_domains: int) -> Method:
    """Build a Transformer that uses no domain labels."""
    return Method(assemble(config, vocab), [LabelSmoothedCrossEntropy(config.label_smoothing)])
