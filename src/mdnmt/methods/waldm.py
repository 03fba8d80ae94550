"""WALDM: word-level adaptive layer-wise domain mixing (Jiang et al. 2020, sec. 3), on the encoder or on both sides."""

from __future__ import annotations

from functools import partial
from typing import Literal

from pydantic import Field, model_validator
from torch import nn

from mdnmt.methods.assembly import LayerParts, assemble, make_decoder, make_encoder
from mdnmt.methods.method import Architecture, Method, VocabSizes
from mdnmt.models.context import Side
from mdnmt.models.gradient_reversal import GradientLink
from mdnmt.models.losses import LabelSmoothedCrossEntropy, Loss, ProportionLoss
from mdnmt.models.projection import Linear, MixedLinear
from mdnmt.models.proportion import DomainProportion
from mdnmt.models.sentence_loss import SentenceDomainLoss
from mdnmt.models.word_weights import WordWeights


class WaldmConfig(Architecture):
    """What WALDM adds to a Transformer; the method files `*-released-code` change the last four options."""

    mixed_sides: Literal["encoder", "both"] = Field("both", description='the rows "Encoder" and "E/DC"')
    proportion_smoothing: float = Field(0.05, ge=0, le=1, description="eps of D(x), sec. 3.1")
    weighted_loss: Literal["none", "aligned", "misaligned"] = Field(
        "none", description='the rows "... + WL"; misaligned: alpha on the wrong tokens, as in the released code'
    )
    input_link: GradientLink = Field(
        "detach", description="L_mix reaches the Transformer as in MTL (pass), AdvL (reverse) or PAdvL (half), sec. 4.6"
    )
    labels: Literal["used", "unused_open", "unused_frozen"] = Field(
        "used", description="unused (Table 5): no L_mix; L_gen trains D (open), or D keeps its initial values (frozen)"
    )
    mix_out_projection: bool = Field(True, description="one W_O per domain (text), or one for all (code)")
    proportion_loss_on_logits: bool = Field(False, description="L_mix on D(x) (text), or on the plain softmax (code)")
    aux_norm: Literal["text", "code"] = Field(
        "text", description="L_mix and WL's loss: sums over tokens or sentences (text), or means (code)"
    )
    clip_proportions_apart: bool = Field(
        True, description="clip the domain classifiers by the norm of their own gradients"
    )

    @model_validator(mode="after")
    def _losses_have_their_labels(self) -> WaldmConfig:
        if self.labels != "used" and (self.weighted_loss != "none" or self.input_link != "detach"):
            raise ValueError(
                f"labels: {self.labels} trains without labels, but weighted_loss and input_link change losses that "
                "need them; expected weighted_loss: none and input_link: detach"
            )
        return self


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
    return Method(model, _losses(config), clip_apart=_auxiliary_parameters(model) if apart else [])


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
