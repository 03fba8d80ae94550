"""WALDM: word-level adaptive layer-wise domain mixing (Jiang et al. 2020, sec. 3), on the encoder or on both sides."""

from __future__ import annotations

from functools import partial

from torch import nn

from mdnmt.config.architectures.waldm import WaldmConfig
from mdnmt.methods.assembly import LayerParts, assemble, make_decoder, make_encoder
from mdnmt.methods.method import Method, VocabSizes
from mdnmt.models.context import Side
from mdnmt.models.losses import LabelSmoothedCrossEntropy, Loss, ProportionLoss
from mdnmt.models.projection import Linear, MixedLinear
from mdnmt.models.proportion import DomainProportion
from mdnmt.models.sentence_loss import SentenceDomainLoss
from mdnmt.models.word_weights import WordWeights

config_type = WaldmConfig


def build(config: WaldmConfig, vocab: VocabSizes, num_domains: int) -> Method:
    """Build WALDM: every projection becomes k projections, mixed by the token's domain proportion."""
    mixed_linear = partial(MixedLinear, num_domains=num_domains)

    def proportion(side: Side) -> DomainProportion:
        return DomainProportion(
            config.model_dim,
            num_domains,
            smoothing=config.proportion_smoothing,
            side=side,
            input_link=config.input_link,
            weight_link_open=config.labels == "unused_open",
            frozen=config.labels == "unused_frozen",
        )

    def parts(side: Side) -> LayerParts:
        return LayerParts(
            self_attention=mixed_linear,
            cross_query=mixed_linear,
            cross_key_value=mixed_linear,
            out=mixed_linear if config.mix_out_projection else Linear,
            ffn=partial(mixed_linear, widened_init=True),
            conditioner=lambda: proportion(side),
        )

    encoder = make_encoder(config, parts("encoder"))
    if config.mixed_sides == "both":
        decoder = make_decoder(config, parts("decoder"), memory_conditioner=proportion("memory"))
    else:
        decoder = make_decoder(config)
    weights = WordWeights(config.model_dim, num_domains) if config.weighted_loss != "none" else None
    classifiers = {"decoder": weights} if weights else None
    model = assemble(config, vocab, encoder=encoder, decoder=decoder, classifiers=classifiers)
    apart = config.clip_proportions_apart and config.labels == "used"
    return Method(model, _losses(config), clip_apart=_auxiliary_parameters(model) if apart else [], packs=True)


def _losses(config: WaldmConfig) -> list[Loss]:
    weighted, misaligned = config.weighted_loss != "none", config.weighted_loss == "misaligned"
    losses: list[Loss] = [
        LabelSmoothedCrossEntropy(config.label_smoothing, token_weighted=weighted, misaligned=misaligned)
    ]
    if config.labels == "used":
        on_logits = config.proportion_loss_on_logits
        losses.append(ProportionLoss(config.proportion_smoothing, on_logits=on_logits, aux_norm=config.aux_norm))
    if weighted:
        losses.append(SentenceDomainLoss(["decoder"], aux_norm=config.aux_norm))
    return losses


def _auxiliary_parameters(model: nn.Module) -> list[nn.Parameter]:
    layers = (module for module in model.modules() if isinstance(module, DomainProportion | WordWeights))
    return [parameter for layer in layers for parameter in layer.parameters()]
