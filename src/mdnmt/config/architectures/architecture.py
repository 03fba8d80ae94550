"""Options that every method has, and what its `size` means."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from mdnmt.config.base import Frozen
from mdnmt.errors import ConfigError


@dataclass(frozen=True)
class VocabSizes:
    """Sizes of the two vocabularies, and whether they are one."""

    source: int
    target: int
    joint: bool


class Architecture(Frozen):
    """Options that every method has."""

    # Left out of a run's identity at their default: runs trained before the option existed keep their addresses.
    # A method with such options of its own extends the set.
    younger_options: ClassVar[frozenset[str]] = frozenset({"first_position", "blocks", "losses"})

    size: Literal["base", "enlarged", "big"] = Field(
        "base",
        description="enlarged: sqrt(k) times the widths for k domains (Jiang et al.); big: twice widths and heads",
    )
    model_dim: int = Field(512, gt=0, le=16_384, description="width of embeddings and layers")
    ffn_dim: int = Field(2048, gt=0, le=131_072, description="width inside the feed-forward block")
    num_heads: int = Field(8, gt=0, description="of each attention; model_dim is a multiple of it")
    encoder_layers: int = Field(6, gt=0, le=200, description="layers of the encoder")
    decoder_layers: int = Field(6, gt=0, le=200, description="layers of the decoder")
    norm: Literal["pre", "post"] = Field("pre", description="layer norm before or after the residual connection")
    share_embeddings: Literal["none", "decoder", "all"] = Field(
        "none", description="tie the output layer to the target embedding, or all three (joint vocabulary)"
    )
    dropout: float = Field(0.1, ge=0, lt=1, description="of embeddings, and of each block before the residual sum")
    attention_dropout: float = Field(0.0, ge=0, lt=1, description="of attention weights")
    activation_dropout: float = Field(0.0, ge=0, lt=1, description="inside the feed-forward block")
    label_smoothing: float = Field(0.1, ge=0, lt=1, description="share of the target spread over the vocabulary")
    max_positions: int = Field(1024, gt=0, le=1_000_000, description="longest sentence, in BPE pieces")
    first_position: int = Field(
        0, ge=0, le=1_000_000, description="position of a sentence's first piece; fairseq counts from 2"
    )

    blocks: tuple[str, ...] = Field((), description="plug-ins whose blocks take the place of parts of the model")
    losses: tuple[str, ...] = Field((), description="plug-ins whose losses are added to those of the method")

    @model_serializer(mode="wrap")
    def _without_younger_defaults(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        fields = type(self).model_fields
        at_default = {name for name in self.younger_options if getattr(self, name) == fields[name].default}
        return {name: value for name, value in dump(self).items() if name not in at_default}

    @model_validator(mode="after")
    def _heads_divide_width(self) -> Architecture:
        if self.model_dim % self.num_heads:
            raise ValueError(f"model_dim {self.model_dim} is not a multiple of num_heads {self.num_heads}")
        return self

    def require_task(self, num_domains: int, *, joint: bool) -> None:
        """Refuse a task for which no model with these options can be built.

        Args:
            num_domains: of the task.
            joint: the task has one vocabulary for both languages.

        Raises:
            ConfigError: the options do not fit the task.
        """
        if self.share_embeddings == "all" and not joint:
            raise ConfigError(
                "share_embeddings: all needs one vocabulary for both languages, but the task has two; "
                "set `joint: true` under the task's vocabulary, or share_embeddings: decoder"
            )


def with_size(config: Architecture, num_domains: int) -> Architecture:
    """Return the architecture with the widths that its `size` means for k domains.

    Enlarged: model_dim is the nearest multiple of num_heads to sqrt(k) x model_dim (for k = 2, 512 becomes 724
    with 4 heads, and 728 with 8), and ffn_dim grows in proportion. Big: what Transformer-big is to Transformer-base
    (Vaswani et al. 2017, Table 3).
    """
    if config.size == "base":
        return config
    if config.size == "big":
        dims = {"model_dim": 2 * config.model_dim, "ffn_dim": 2 * config.ffn_dim, "num_heads": 2 * config.num_heads}
    else:
        model_dim = round(config.model_dim * num_domains**0.5 / config.num_heads) * config.num_heads
        dims = {"model_dim": model_dim, "ffn_dim": round(config.ffn_dim * model_dim / config.model_dim)}
    return config.model_copy(update={**dims, "size": "base"})
