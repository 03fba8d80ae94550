"""The plain Transformer (Vaswani et al. 2017): the single-domain, mixed, enlarged and big rows of the tables."""

from __future__ import annotations

import torch

from mdnmt.config.architectures.transformer import TransformerConfig
from mdnmt.methods.assembly import assemble
from mdnmt.methods.method import Method, VocabSizes
from mdnmt.models.losses import LabelSmoothedCrossEntropy
from mdnmt.models.projection import Linear

config_type = TransformerConfig


def build(config: TransformerConfig, vocab: VocabSizes, num_domains: int) -> Method:
    """Build a Transformer that uses no domain labels."""
    model = assemble(config, vocab)
    with torch.no_grad():
        for block in model.encoder.modules():
            if isinstance(block, Linear):
                block.weight.mul_(config.encoder_initial_scale)
    return Method(model, [LabelSmoothedCrossEntropy(config.label_smoothing)], packs=True)
