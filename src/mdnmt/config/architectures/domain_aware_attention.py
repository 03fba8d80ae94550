"""The options of domain-aware self-attention (Zhang et al. 2021)."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field, model_validator

from mdnmt.config.architectures.architecture import Architecture
from mdnmt.errors import ConfigError

# Where the parts of a network of domain attention are shared.
Sharing = Literal["layer", "side", "kv_shared", "all"]


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

    def require_task(self, num_domains: int, *, joint: bool) -> None:
        """Refuse guided learning with fewer domain vectors than the task has domains."""
        super().require_task(num_domains, joint=joint)
        if self.guidance_weight and self.num_clusters is not None and self.num_clusters < num_domains:
            raise ConfigError(
                f"guided learning ties a domain vector to each domain: {num_domains} domains, but num_clusters "
                f"{self.num_clusters}; set num_clusters to {num_domains} or more, or null"
            )


config_type = DomainAwareAttentionConfig
