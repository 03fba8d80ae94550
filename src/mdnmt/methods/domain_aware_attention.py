"""Domain-aware self-attention (Zhang et al. 2021): word-level unsupervised learning, and guided learning."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from torch import nn

from mdnmt.config.architectures.domain_aware_attention import DomainAwareAttentionConfig, Sharing
from mdnmt.errors import ConfigError
from mdnmt.methods.assembly import LayerParts, assemble, make_decoder, make_encoder
from mdnmt.methods.method import Method, TokenCounts, VocabSizes
from mdnmt.models.context import Side
from mdnmt.models.domain_attention import (
    DomainAttention,
    DomainAwareProjection,
    SentenceDomainProjection,
    domain_vectors,
)
from mdnmt.models.guided_loss import GuidedLoss, word_domains
from mdnmt.models.losses import LabelSmoothedCrossEntropy, Loss
from mdnmt.models.projection import Linear, ProjectionFactory

# Where the domain vectors, W_u, W_mK and W_mV are shared: within one attention, one side, or the whole model.
SCOPES: dict[Sharing, dict[str, str]] = {
    "layer": {"vectors": "side", "query": "attention", "key": "attention", "value": "attention"},
    "side": {"vectors": "side", "query": "side", "key": "side", "value": "side"},
    "kv_shared": {"vectors": "model", "query": "attention", "key": "model", "value": "model"},
    "all": {"vectors": "model", "query": "model", "key": "model", "value": "model"},
}


config_type = DomainAwareAttentionConfig


def build(config: DomainAwareAttentionConfig, vocab: VocabSizes, num_domains: int) -> Method:
    """Build a Transformer whose keys and values carry each token's domain vector."""
    num_clusters = config.num_clusters or num_domains
    network = _network_factory(config, num_clusters)

    def aware(side: Side) -> ProjectionFactory:
        def projection(in_dim: int, out_dim: int) -> nn.Module:
            if config.level == "sentence":
                found = network(side)
                reads = found if side == "encoder" else None
                return SentenceDomainProjection(in_dim, vectors_NM=found.vectors, value=found.value, network=reads)
            return DomainAwareProjection(in_dim, out_dim, network=network(side), side=side)

        return projection

    def where(side: Side, *placements: str) -> ProjectionFactory:
        return aware(side) if config.placement in placements else Linear

    encoder = LayerParts(self_attention=where("encoder", "encoder", "both", "all"))
    decoder = LayerParts(
        self_attention=where("decoder", "decoder", "both", "all"), cross_key_value=where("memory", "cross", "all")
    )
    model = assemble(config, vocab, encoder=make_encoder(config, encoder), decoder=make_decoder(config, decoder))
    losses: list[Loss] = [LabelSmoothedCrossEntropy(config.label_smoothing)]
    if config.guidance_weight == 0.0:
        return Method(model, losses, packs=True)
    guided = GuidedLoss(config.guidance_weight)

    def prepare(counts: TokenCounts) -> None:
        if not counts.source_KV.any(dim=1).all():
            raise ConfigError(
                "guided learning needs training text of every domain of the task; train the method with train_on: all"
            )
        shares = (
            word_domains(counts_KV, num_clusters, spare_share=config.spare_share)
            for counts_KV in (counts.source_KV, counts.target_KV)
        )
        guided.set_shares(*shares)

    return Method(model, [*losses, guided], prepare=prepare, packs=True)


def _network_factory(config: DomainAwareAttentionConfig, num_clusters: int) -> Callable[[Side], DomainAttention]:
    """Return a function that makes the network of an attention over tokens of a side, reusing shared parts."""
    scopes = SCOPES[config.dan_sharing]
    kept: dict[tuple[str, str], Any] = {}

    def part(name: str, side: Side, make: Callable[[], Any]) -> Any:
        if scopes[name] == "attention":
            return make()
        # Side "memory", which cross-attention sees, is the encoder's output: it shares parts with the encoder.
        owner = "model" if scopes[name] == "model" else "decoder" if side == "decoder" else "encoder"
        if (name, owner) not in kept:
            kept[name, owner] = make()
        return kept[name, owner]

    def network(side: Side) -> DomainAttention:
        linear = partial(Linear, config.model_dim, config.model_dim, bias=False)
        return DomainAttention(
            part("vectors", side, partial(domain_vectors, num_clusters, config.model_dim)),
            query=part("query", side, linear),
            key=part("key", side, linear),
            value=part("value", side, linear),
        )

    return network
