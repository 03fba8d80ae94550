"""WALDM with the mistakes of a re-implementation (Phan 2022), kept to measure what they cost (docs/methods)."""

from __future__ import annotations

from functools import partial

from torch import nn

from mdnmt.config.architectures.naive_waldm import NaiveWaldmConfig
from mdnmt.methods.assembly import LayerParts, assemble, make_decoder, make_encoder
from mdnmt.methods.method import Method, VocabSizes
from mdnmt.models.context import Side
from mdnmt.models.losses import LabelSmoothedCrossEntropy
from mdnmt.models.naive_mixing import (
    LearnedPositions,
    NaiveFeedForward,
    NaiveProjection,
    NaiveProportionLoss,
    initialise,
)
from mdnmt.models.projection import ProjectionFactory

config_type = NaiveWaldmConfig


def build(config: NaiveWaldmConfig, vocab: VocabSizes, num_domains: int) -> Method:
    """Build the re-implementation: mixed projections outside of the model's parameters, and learned positions."""
    # If the decoder mixes, only its own D enter the loss.
    lossy: Side = "decoder" if config.mixed_sides == "both" else "encoder"

    def parts(side: Side) -> LayerParts:
        recorded: Side | None = side if side == lossy else None
        mixing = {"num_domains": num_domains, "smoothing": config.proportion_smoothing}

        def ffn() -> nn.Module:
            return NaiveFeedForward(
                config.model_dim,
                config.ffn_dim,
                num_domains=num_domains,
                smoothing=config.proportion_smoothing,
                side=recorded,
                dropout=config.activation_dropout,
            )

        def maps(*kept: Side | None) -> ProjectionFactory:
            return partial(NaiveProjection, recorded=kept, **mixing)  # type: ignore[arg-type]

        return LayerParts(
            self_attention=maps(recorded, None, None),
            cross_query=maps(recorded),
            cross_key_value=maps(None, None),
            ffn_block=ffn,
        )

    encoder = make_encoder(config, parts("encoder"))
    decoder = make_decoder(config, parts("decoder")) if config.mixed_sides == "both" else make_decoder(config)
    model = assemble(config, vocab, encoder=encoder, decoder=decoder)
    source, target = model.source_embedding, model.target_embedding
    model.source_embedding = LearnedPositions(source)  # type: ignore[assignment]
    model.target_embedding = (
        model.source_embedding if target is source else LearnedPositions(target)  # type: ignore[assignment]
    )
    initialise(model, xavier=config.initialisation == "xavier")
    return Method(
        model,
        [LabelSmoothedCrossEntropy(config.label_smoothing), NaiveProportionLoss(config.proportion_smoothing, lossy)],
    )
