"""The plain Transformer (Vaswani et al. 2017): the single-domain, mixed, enlarged and big rows of the tables."""

from __future__ import annotations

from typing import ClassVar

import torch
from pydantic import Field

from mdnmt.methods.assembly import assemble
from mdnmt.methods.method import Architecture, Method, VocabSizes
from mdnmt.models.losses import LabelSmoothedCrossEntropy
from mdnmt.models.projection import Linear


class TransformerConfig(Architecture):
    """The options of all methods, and one for a control."""

    younger_options: ClassVar[frozenset[str]] = Architecture.younger_options | {"encoder_initial_scale"}

    encoder_initial_scale: float = Field(
        1.0,
        gt=0,
        description="factor on the initial weights of the encoder's projections; a mean of k independent ones has "
        "1 / sqrt(k)",
    )


config_type = TransformerConfig


def build(config: TransformerConfig, vocab: VocabSizes, num_domains: int) -> Method:
    """Build a Transformer that uses no domain labels."""
    model = assemble(config, vocab)
    with torch.no_grad():
        for block in model.encoder.modules():
            if isinstance(block, Linear):
                block.weight.mul_(config.encoder_initial_scale)
    return Method(model, [LabelSmoothedCrossEntropy(config.label_smoothing)])
