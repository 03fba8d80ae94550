"""Parts that the methods share: stacks of layers with given projections, embeddings, the output layer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Literal, get_args

import torch
from torch import nn

from mdnmt.errors import ConfigError
from mdnmt.methods.method import Architecture, VocabSizes
from mdnmt.models.attention import CrossAttention, SelfAttention
from mdnmt.models.decoder import Decoder, DecoderLayer
from mdnmt.models.domain_tag import DomainTag
from mdnmt.models.embedding import Embedding
from mdnmt.models.encoder import Encoder, EncoderLayer
from mdnmt.models.feed_forward import FeedForward
from mdnmt.models.projection import Linear, ProjectionFactory
from mdnmt.models.residual import Residual, ResidualFactory
from mdnmt.models.transformer import Transformer
from mdnmt.plugin_kinds import BLOCK
from mdnmt.plugins import get, make


@dataclass(frozen=True)
class LayerParts:
    """What the layers of a stack are made of; each factory is called once for each place in each layer.

    Attributes:
        self_attention: the map to queries, keys and values, (D, 3 D).
        cross_query: the map of target tokens to queries, (D, D).
        cross_key_value: the map of the encoder's output to keys and values, (D, 2 D).
        out: the output projection of an attention, (D, D).
        ffn: the two maps of the feed-forward block.
        ffn_block: makes a block, called with (x, context), in place of the whole feed-forward block.
        output_layer: makes what the last states of the decoder pass, called with (states, context), before the product
            with the output weights.
        residual: makes what wraps each block; None: the plain residual connection.
        conditioner: makes the block that computes the domain proportions for the layer's projections.
    """

    self_attention: ProjectionFactory = Linear
    cross_query: ProjectionFactory = Linear
    cross_key_value: ProjectionFactory = Linear
    out: ProjectionFactory = Linear
    ffn: ProjectionFactory = Linear
    ffn_block: Callable[[], nn.Module] | None = None
    output_layer: Callable[[], nn.Module] | None = None
    residual: ResidualFactory | None = None
    conditioner: Callable[[], nn.Module | None] = lambda: None


PLAIN = LayerParts()
Part = Literal["ffn_block", "bridge", "output_layer"]  # what the block of a plug-in may replace in any method


def make_encoder(config: Architecture, parts: LayerParts = PLAIN) -> Encoder:
    """Return a stack of encoder layers."""

    def layer() -> EncoderLayer:
        return EncoderLayer(
            _self_attention(config, parts),
            _feed_forward(config, parts),
            residual=_residual(config, parts),
            conditioner=parts.conditioner(),
        )

    layers = (layer() for _ in range(config.encoder_layers))
    return Encoder(layers, model_dim=config.model_dim, norm_order=config.norm)


def make_decoder(
    config: Architecture, parts: LayerParts = PLAIN, memory_conditioner: nn.Module | None = None
) -> Decoder:
    """Return a stack of decoder layers."""

    def layer() -> DecoderLayer:
        return DecoderLayer(
            _self_attention(config, parts),
            CrossAttention(
                config.model_dim,
                config.num_heads,
                query_projection=parts.cross_query,
                key_value_projection=parts.cross_key_value,
                out_projection=parts.out,
                dropout=config.attention_dropout,
            ),
            _feed_forward(config, parts),
            residual=_residual(config, parts),
            conditioner=parts.conditioner(),
        )

    output_layer = parts.output_layer() if parts.output_layer is not None else None
    return Decoder(
        (layer() for _ in range(config.decoder_layers)),
        model_dim=config.model_dim,
        norm_order=config.norm,
        memory_conditioner=memory_conditioner,
        output_layer=own_block(config, "output_layer") or output_layer,
    )


def assemble(
    config: Architecture,
    vocab: VocabSizes,
    *,
    encoder: Encoder | None = None,
    decoder: Decoder | None = None,
    domain_tag: DomainTag | None = None,
    bridge: nn.Module | None = None,
    classifiers: Mapping[str, nn.Module] | None = None,
    block_choice: nn.Module | None = None,
) -> Transformer:
    """Return a Transformer of the given parts (None: plain ones), its embeddings tied as the architecture says.

    The last four arguments are those of `Transformer`.
    """
    encoder = encoder or make_encoder(config)
    decoder = decoder or make_decoder(config)

    def embedding(size: int) -> Embedding:
        return Embedding(
            size,
            config.model_dim,
            dropout=config.dropout,
            max_positions=config.max_positions,
            first_position=config.first_position,
        )

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
        domain_tag=domain_tag,
        bridge=own_block(config, "bridge") or bridge,
        classifiers=classifiers,
        block_choice=block_choice,
    )


def own_block(config: Architecture, part: Part) -> nn.Module | None:
    """Return a new block of the plug-in among `blocks` that takes the place of a part; None if none does.

    Raises:
        ConfigError: there is no such plug-in, it is for no part that can be replaced, or its code fails.
    """
    of_part = {}
    for name in config.blocks:
        found = get(BLOCK, name).PART
        if found not in get_args(Part):
            raise ConfigError(f"block {name!r}: found PART {found!r}, expected one of {', '.join(get_args(Part))}")
        of_part[found] = name
    return make(BLOCK, of_part[part], config) if part in of_part else None


def _self_attention(config: Architecture, parts: LayerParts) -> SelfAttention:
    return SelfAttention(
        config.model_dim,
        config.num_heads,
        projection=parts.self_attention,
        out_projection=parts.out,
        dropout=config.attention_dropout,
    )


def _feed_forward(config: Architecture, parts: LayerParts) -> nn.Module:
    if (block := own_block(config, "ffn_block")) is not None:
        return block
    if parts.ffn_block is not None:
        return parts.ffn_block()
    return FeedForward(config.model_dim, config.ffn_dim, projection=parts.ffn, dropout=config.activation_dropout)


def _residual(config: Architecture, parts: LayerParts) -> ResidualFactory:
    return parts.residual or partial(Residual, config.model_dim, norm_order=config.norm, dropout=config.dropout)
