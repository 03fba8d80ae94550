"""WALDM: word-level adaptive layer-wise domain mixing (Jiang et al. 2020, sec. 3), on the encoder or on both sides."""

from __future__ import annotations

from functools import partial
from typing import Literal

from pydantic import Field
from torch import nn

from mdnmt.methods.assembly import LayerParts, assemble, make_decoder, make_encoder
from mdnmt.methods.method import Architecture, Method, VocabSizes
from mdnmt.models.context import Side
from mdnmt.models.losses import LabelSmoothedCrossEntropy, ProportionLoss
from mdnmt.models.projection import Linear, MixedLinear
from mdnmt.models.proportion import DomainProportion


class WaldmConfig(Architecture):
    """What WALDM adds to a Transformer; the preset `released_code` of docs/methods/waldm.md flips the last four."""

    mixed_sides: Literal["encoder", "both"] = Field("both", description='the rows "Encoder" and "E/DC"')
    proportion_smoothing: float = Field(0.05, ge=0, lt=1, description="eps of D(x), sec. 3.1")
    mix_out_projection: bool = Field(True, description="W_O is one a domain as well (text), or shared (code)")
    proportion_loss_on_logits: bool = Field(False, description="L_mix on D(x) (text), or on its softmax (code)")
    aux_norm: Literal["text", "code"] = Field("text", description="L_mix as a sum over words, or as the code's mean")
    clip_proportions_apart: bool = Field(True, description="L_mix cannot scale the Transformer's update by clipping")


config_type = WaldmConfig


def build(config: WaldmConfig, vocab: VocabSizes, num_domains: int) -> Method:
    """Build WALDM: every projection is k projections, mixed by the word's domain proportion."""
    mixed_linear = partial(MixedLinear, num_domains=num_domains)

    def proportion(side: Side) -> DomainProportion:
        return DomainProportion(config.model_dim, num_domains, smoothing=config.proportion_smoothing, side=side)

    def parts(side: Side) -> LayerParts:
        return LayerParts(
            self_attention=mixed_linear,
            cross_attention=mixed_linear,
            out=mixed_linear if config.mix_out_projection else Linear,
            ffn=partial(mixed_linear, widened_init=True),
            conditioner=lambda: proportion(side),
        )

    encoder = make_encoder(config, parts("encoder"))
    if config.mixed_sides == "both":
        decoder = make_decoder(config, parts("decoder"), memory_conditioner=proportion("memory"))
    else:
        decoder = make_decoder(config)
    model = assemble(config, vocab, encoder=encoder, decoder=decoder)
    proportion_loss = ProportionLoss(
        config.proportion_smoothing, on_logits=config.proportion_loss_on_logits, aux_norm=config.aux_norm
    )
    return Method(
        model,
        [LabelSmoothedCrossEntropy(config.label_smoothing), proportion_loss],
        clip_apart=_proportion_parameters(model) if config.clip_proportions_apart else [],
    )


def _proportion_parameters(model: nn.Module) -> list[nn.Parameter]:
    layers = (module for module in model.modules() if isinstance(module, DomainProportion))
    return [parameter for layer in layers for parameter in layer.parameters()]
