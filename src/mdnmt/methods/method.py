"""What a method is: a model composed of blocks, and the losses it is trained with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Self

import torch
from torch import Tensor, nn

from mdnmt.config.architectures.architecture import Architecture, VocabSizes
from mdnmt.models.losses import Loss
from mdnmt.models.scheduled import Scheduled
from mdnmt.models.transformer import Transformer, TranslationModel

# What the module of a method needs, in one place.
__all__ = ["Architecture", "Method", "TokenCounts", "VocabSizes"]


@dataclass(frozen=True)
class TokenCounts:
    """How often each token occurs in the training text of each domain, on the device of the model.

    Attributes:
        source_KV: [number of domains, source vocabulary].
        target_KV: [number of domains, target vocabulary].
    """

    source_KV: Tensor
    target_KV: Tensor


@dataclass
class Trainable:
    """A model and its losses, as the trainer sees them.

    Attributes:
        model: the translation model, with everything that is trained.
        losses: the terms of the objective, the generation loss first.
        clip_apart: parameters whose gradients are clipped to a norm of their own, apart from all others.
        schedules: values in losses and blocks that change during training.
        needs_domain: translation needs the domain label of each sentence; only the label condition `missing` of
            `Decoding.labels` leaves it out.
        packs: training batches may be packed, if all losses have `packs` too: blocks read sentences through
            `DomainContext`, not from the shape of a batch. `check-plugin` tests it.
        prepare: called once before training with the token counts of the training text; None if no loss needs them.
    """

    model: TranslationModel
    losses: Sequence[Loss]
    clip_apart: list[nn.Parameter] = field(default_factory=list)
    schedules: Sequence[Scheduled] = ()
    needs_domain: bool = False
    packs: bool = False
    prepare: Callable[[TokenCounts], None] | None = None

    def to(self, device: torch.device) -> Self:
        """Move the model and the schedules to a device; return them."""
        self.model.to(device)
        for schedule in self.schedules:
            schedule.to(device)
        return self

    def begin_update(self, update: int, max_updates: int) -> None:
        """Set all schedules to their values at an update, counted from 1."""
        for schedule in self.schedules:
            schedule.set(update, max_updates)

    def clip_groups(self) -> list[list[nn.Parameter]]:
        """Return the groups of parameters that are clipped, each to its own norm."""
        apart = {id(parameter) for parameter in self.clip_apart}
        rest = [parameter for parameter in self.model.parameters() if id(parameter) not in apart]
        return [group for group in (rest, self.clip_apart) if group]


@dataclass
class Method(Trainable):
    """A model that is composed of blocks, and its losses."""

    model: Transformer
