"""What a method is: a model put together from blocks, and the losses it is trained with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import Field, model_validator
from torch import nn

from mdnmt.config.base import Frozen
from mdnmt.models.losses import Loss
from mdnmt.models.transformer import Transformer


@dataclass
class Method:
    """A model and its losses.

    Attributes:
        model: the translation model.
        losses: the terms of the objective, the generation loss first.
        clip_apart: parameters whose gradient norm is clipped by itself, apart from that of all others.
    """

    model: Transformer
    losses: Sequence[Loss]
    clip_apart: list[nn.Parameter] = field(default_factory=list)

    def clip_groups(self) -> list[list[nn.Parameter]]:
        """Return the groups of parameters that are clipped, each to its own norm."""
        apart = {id(parameter) for parameter in self.clip_apart}
        rest = [parameter for parameter in self.model.parameters() if id(parameter) not in apart]
        return [group for group in (rest, self.clip_apart) if group]


class Architecture(Frozen):
    """Sizes that every Transformer here has."""

    model_dim: int = Field(512, gt=0, description="width of embeddings and layers")
    ffn_dim: int = Field(2048, gt=0, description="width inside the feed-forward block")
    num_heads: int = Field(8, gt=0)
    encoder_layers: int = Field(6, gt=0)
    decoder_layers: int = Field(6, gt=0)
    norm: Literal["pre", "post"] = Field("pre", description="layer norm before or after the residual connection")
    share_embeddings: Literal["none", "decoder", "all"] = Field(
        "none", description="tie the output layer to the target embedding, or all three (joint vocabulary)"
    )
    dropout: float = Field(0.1, ge=0, lt=1)
    attention_dropout: float = Field(0.0, ge=0, lt=1)
    activation_dropout: float = Field(0.0, ge=0, lt=1, description="inside the feed-forward block")
    label_smoothing: float = Field(0.1, ge=0, lt=1)
    max_positions: int = Field(1024, gt=0, description="longest sentence, in BPE pieces")

    @model_validator(mode="after")
    def _heads_divide_width(self) -> Architecture:
        if self.model_dim % self.num_heads:
            raise ValueError(f"model_dim {self.model_dim} is not a multiple of num_heads {self.num_heads}")
        return self


@dataclass(frozen=True)
class VocabSizes:
    """Sizes of the two vocabularies, and whether they are one."""

    source: int
    target: int
    joint: bool


# (architecture, vocabularies, number of domains) -> method
Builder = Callable[[Any, VocabSizes, int], Method]
