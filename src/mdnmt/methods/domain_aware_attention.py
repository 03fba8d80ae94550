"""Domain-aware self-attention (Zhang et al. 2021): word-level unsupervised learning, and guided learning."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, Literal

from pydantic import Field, model_validator
from torch import nn

from mdnmt.errors import ConfigError
from mdnmt.methods.assembly import LayerParts, assemble, make_decoder, make_encoder
from mdnmt.methods.method import Architecture, Method, TokenCounts, VocabSizes
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

Sharing = Literal["layer", "side", "kv_shared", "all"]
# Where the domain vectors, W_u, W_mK and W_mV are shared: within one attention, one side, or the whole model.
SCOPES: dict[Sharing, dict[str, str]] = {
    "layer": {"vectors": "side", "query": "attention", "key": "attention", "value": "attention"},
    "side": {"vectors": "side", "query": "side", "key": "side", "value": "side"},
    "kv_shared": {"vectors": "model", "query": "attention", "key": "model", "value": "model"},
    "all": {"vectors": "model", "query": "model", "key": "model", "value": "model"},
}


class DomainAwareAttentionConfig(Architecture):
    """What domain-aware self-attention adds to a Transformer."""

    younger_options: ClassVar[frozenset[str]] = Architecture.younger_options | {"level"}

    level: Literal["word", "sentence"] = Field(
        "word", description="sentence: all tokens have the mean of the source tokens' domain vectors (sec. 3.2)"
    )
    placement: Literal["encoder", "decoder", "both", "cross", "all"] = Field(
        "both", description="which attentions: self-attention of a side or of both, encoder-decoder attention, or all"
    )
    num_clusters: int | None = Field(
        4, gt=0, le=10_000, description="N domain vectors; null: as many as the task has domains"
    )
    dan_sharing: Sharing = Field(
        "layer",
        description="layer: maps of its own in each, domain vectors one set a side; side: one network a side; "
        "kv_shared: only W_u is its own; all: one network",
    )
    guidance_weight: float = Field(0.0, ge=0, description="lambda of eq. 9: 0 unsupervised, 1 guided learning")
    spare_share: float = Field(
        0.01, gt=0, description="guided: what a domain vector without a domain gets of each word, all domains get 1"
    )

    @model_validator(mode="after")
    def _sentences_have_an_encoder(self) -> DomainAwareAttentionConfig:
        if self.level == "sentence" and self.placement not in ("encoder", "both"):
            raise ValueError(
                f"level sentence takes the sentence's domain from the encoder's self-attention; placement is "
                f"{self.placement}, expected encoder or both"
            )
        return self


config_type = DomainAwareAttentionConfig


def build(config: DomainAwareAttentionConfig, vocab: VocabSizes, num_domains: int) -> Method:
    """Build a Transformer whose keys and values carry each token's domain vector.

    Raises:
        ConfigError: guided learning with fewer domain vectors than the task has domains.
    """
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
        return Method(model, losses)
    if num_clusters < num_domains:
        raise ConfigError(
            f"guided learning ties a domain vector to each domain: {num_domains} domains, but num_clusters "
            f"{num_clusters}; set num_clusters to {num_domains} or more, or null"
        )
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

    return Method(model, [*losses, guided], prepare=prepare)


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
