"""Adapters: a small bottleneck for each domain behind each layer of a frozen Transformer (Bapna and Firat 2019)."""

from __future__ import annotations

from itertools import count

from torch import nn

from mdnmt.config.architectures.adapters import AdaptersConfig
from mdnmt.methods.assembly import LayerParts, assemble, make_decoder, make_encoder
from mdnmt.methods.method import Method, VocabSizes
from mdnmt.models.adapter import AdaptedResidual, DomainAdapters
from mdnmt.models.losses import LabelSmoothedCrossEntropy
from mdnmt.models.residual import Residual

# Blocks with a residual connection in a layer, the feed-forward block last.
ENCODER_BLOCKS, DECODER_BLOCKS = 2, 3

config_type = AdaptersConfig


def build(config: AdaptersConfig, vocab: VocabSizes, num_domains: int) -> Method:
    """Build a Transformer of which only the adapters are trained; `initialise_from` gives it the other weights."""
    model = assemble(
        config,
        vocab,
        encoder=make_encoder(config, _parts(config, num_domains, ENCODER_BLOCKS)),
        decoder=make_decoder(config, _parts(config, num_domains, DECODER_BLOCKS)),
    )
    model.requires_grad_(False)
    for module in model.modules():
        if isinstance(module, DomainAdapters):
            module.requires_grad_(True)
    return Method(model, [LabelSmoothedCrossEntropy(config.label_smoothing)], needs_domain=True, packs=True)


def _parts(config: AdaptersConfig, num_domains: int, blocks: int) -> LayerParts:
    """Return the parts of a stack with adapters behind the last of the blocks of each layer."""
    numbers = count(1)

    def residual() -> nn.Module:
        if next(numbers) % blocks:
            return Residual(config.model_dim, norm_order=config.norm, dropout=config.dropout)
        adapters = DomainAdapters(config.model_dim, config.bottleneck_dim, num_domains)
        return AdaptedResidual(config.model_dim, norm_order=config.norm, dropout=config.dropout, adapters=adapters)

    return LayerParts(residual=residual)
