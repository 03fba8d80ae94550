"""The parts that methods here share: stacks of layers made of given projections, embeddings, output layer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn

from mdnmt.errors import ConfigError
from mdnmt.methods.method import Architecture, VocabSizes
from mdnmt.models.attention import CrossAttention, SelfAttention
from mdnmt.models.decoder import Decoder, DecoderLayer
from mdnmt.models.embedding import Embedding
from mdnmt.models.encoder import Encoder, EncoderLayer
from mdnmt.models.feed_forward import FeedForward
from mdnmt.models.projection import Linear, ProjectionFactory
from mdnmt.models.proportion import DomainProportion
from mdnmt.models.transformer import Transformer

Conditioner = Callable[[], DomainProportion | None]


@dataclass(frozen=True)
class Projections:
    """The point-wise linear maps of a layer: queries, keys and values; the attention's output; the feed-forward."""

    attention: ProjectionFactory = Linear
    out: ProjectionFactory = Linear
    ffn: ProjectionFactory = Linear


def make_encoder(config: Architecture, projections: Projections, conditioner: Conditioner = lambda: None) -> Encoder:
    """Return a stack of encoder layers; each gets projections and a conditioner of its own."""
    dim = config.model_dim

    def layer() -> EncoderLayer:
        return EncoderLayer(
            _self_attention(config, projections),
            _feed_forward(config, projections),
            model_dim=dim,
            norm_order=config.norm,
            dropout=config.dropout,
            conditioner=conditioner(),
        )

    return Encoder((layer() for _ in range(config.encoder_layers)), model_dim=dim, norm_order=config.norm)


def make_decoder(
    config: Architecture,
    projections: Projections,
    conditioner: Conditioner = lambda: None,
    memory_conditioner: DomainProportion | None = None,
) -> Decoder:
    """Return a stack of decoder layers; each gets projections and a conditioner of its own."""
    dim = config.model_dim

    def layer() -> DecoderLayer:
        return DecoderLayer(
            _self_attention(config, projections),
            CrossAttention(
                dim,
                config.num_heads,
                projection=projections.attention,
                out_projection=projections.out,
                dropout=config.attention_dropout,
            ),
            _feed_forward(config, projections),
            model_dim=dim,
            norm_order=config.norm,
            dropout=config.dropout,
            conditioner=conditioner(),
        )

    layers = (layer() for _ in range(config.decoder_layers))
    return Decoder(layers, model_dim=dim, norm_order=config.norm, memory_conditioner=memory_conditioner)


def assemble(config: Architecture, vocab: VocabSizes, *, encoder: Encoder, decoder: Decoder) -> Transformer:
    """Return a Transformer of the given stacks, its embeddings tied as the architecture says.

    Raises:
        ConfigError: all embeddings are to be one, but the vocabularies are two.
    """
    if config.share_embeddings == "all" and not vocab.joint:
        raise ConfigError(
            "share_embeddings: all needs one vocabulary for both languages, but the task has two; "
            "set `joint: true` under the task's vocabulary, or share_embeddings: decoder"
        )

    def embedding(size: int) -> Embedding:
        return Embedding(size, config.model_dim, dropout=config.dropout, max_positions=config.max_positions)

    source = embedding(vocab.source)
    target = source if config.share_embeddings == "all" else embedding(vocab.target)
    if config.share_embeddings == "none":
        output_weight = nn.Parameter(torch.empty(vocab.target, config.model_dim))
        nn.init.normal_(output_weight, std=config.model_dim**-0.5)
    else:
        output_weight = target.weight
    return Transformer(
        source_embedding=source,
        target_embedding=target,
        encoder=encoder,
        decoder=decoder,
        output_weight=output_weight,
    )


def _self_attention(config: Architecture, projections: Projections) -> SelfAttention:
    return SelfAttention(
        config.model_dim,
        config.num_heads,
        projection=projections.attention,
        out_projection=projections.out,
        dropout=config.attention_dropout,
    )


def _feed_forward(config: Architecture, projections: Projections) -> FeedForward:
    return FeedForward(config.model_dim, config.ffn_dim, projection=projections.ffn, dropout=config.activation_dropout)
