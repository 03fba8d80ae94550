"""The input of a model: a batch of sentence pairs with their domain labels, padded or packed."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, fields, replace
from typing import Any

import torch
from torch import Tensor

from mdnmt.models.context import Side
from mdnmt.models.packing import Packing

NO_LABEL = -100  # F.cross_entropy leaves it out


@dataclass(frozen=True)
class Batch:
    """Sentence pairs, padded on the right or packed.

    In a packed batch B is 1: all sentences lie one after the other in the one row of T tokens, and all T positions have
    a label. `domain_B` then has one entry for each place for a sentence. Methods that may be trained on packed batches
    (`Method.packs`) use the properties below in place of the shapes.

    Attributes:
        source_BS: source ids, ended by </s>.
        source_mask_BS: True at real source tokens.
        target_BT: decoder input ids: <s> and the target without its last id.
        target_mask_BT: True at real decoder inputs.
        label_N: the ids to predict, without padding; if packed, with it.
        label_index_N: the positions of the labels in the flattened [B * T].
        domain_B: the domain label of each sentence.
        source_packing: where the source sentences lie, if the batch is packed.
        target_packing: where the target sentences lie.
    """

    source_BS: Tensor
    source_mask_BS: Tensor
    target_BT: Tensor
    target_mask_BT: Tensor
    label_N: Tensor
    label_index_N: Tensor
    domain_B: Tensor
    source_packing: Packing | None = None
    target_packing: Packing | None = None

    @property
    def shape_key(self) -> Hashable:
        """Return the shapes of all tensors: equal for two batches whose updates run the same operators."""
        return tuple(tuple(tensor.shape) for tensor in self.tensors())

    @property
    def num_target_tokens(self) -> int:
        """Return the number of labels, </s> included; on a GPU, this waits for a packed batch."""
        return self.label_N.numel() if self.target_packing is None else int(self.target_words)

    @property
    def target_words(self) -> Tensor:
        """Return the number of labels as a scalar on the device, where a recorded update reads it anew."""
        return self.target_mask_BT.sum()

    @property
    def target_length_B(self) -> Tensor:
        """Return the number of target tokens of each sentence."""
        return self.target_mask_BT.sum(1) if self.target_packing is None else self.target_packing.length_P

    @property
    def label_mask_N(self) -> Tensor | None:
        """Return True at real labels; None if all are."""
        return None if self.target_packing is None else self.target_mask_BT.flatten()

    def at_labels(self, x_BTX: Tensor) -> Tensor:
        """Return the values [N, ...] of [B, T, ...] at the positions of the labels."""
        flat = x_BTX.flatten(0, 1)
        return flat.index_select(0, self.label_index_N) if self.target_packing is None else flat

    @property
    def label_domain_N(self) -> Tensor:
        """Return the domain of each label; `NO_LABEL` at padding."""
        if self.target_packing is None:
            return self.domain_B.index_select(0, self.label_index_N // self.target_BT.size(1))
        return self.token_domain_BT("decoder").flatten().masked_fill(~self.target_mask_BT.flatten(), NO_LABEL)

    @property
    def sentence_mask_B1(self) -> Tensor:
        """Return True for sentences; every sentence has a first token, so all rows of a padded batch are sentences."""
        if self.source_packing is None:
            return self.source_mask_BS[:, :1]
        return self.source_packing.token_PL[:, :1] >= 0

    @property
    def sentence_label_B(self) -> Tensor:
        """Return the domain of each sentence; `NO_LABEL` at places without a sentence."""
        if self.source_packing is None:
            return self.domain_B
        return self.domain_B.masked_fill(~self.sentence_mask_B1.squeeze(1), NO_LABEL)

    def token_domain_BT(self, side: Side) -> Tensor:
        """Return the domain of each token of a side, [1, T], or [B, 1] where all tokens of a row have the same."""
        packing = self.target_packing if side == "decoder" else self.source_packing
        if packing is None:
            return self.domain_B.unsqueeze(1)
        return self.domain_B.index_select(0, packing.sentence_N).unsqueeze(0)

    def map(self, change: Callable[[Tensor], Tensor]) -> Batch:
        """Return the same batch with every tensor changed."""
        found: Batch = _mapped(self, change)
        return found

    def to(self, device: torch.device) -> Batch:
        """Return the same batch on `device`; a pinned batch is copied asynchronously."""
        return self.map(lambda tensor: tensor.to(device, non_blocking=True))

    def pinned(self) -> Batch:
        """Return the same batch in pinned memory, which a GPU can read without the CPU."""
        return self.map(Tensor.pin_memory)

    def tensors(self) -> list[Tensor]:
        """Return all tensors, always in the same order."""
        found: list[Tensor] = []
        self.map(lambda tensor: found.append(tensor) or tensor)  # type: ignore[func-returns-value]
        return found


def _mapped(value: Any, change: Callable[[Tensor], Tensor]) -> Any:
    """Return a tensor, or a dataclass of tensors, with each tensor changed."""
    if value is None or isinstance(value, Tensor):
        return None if value is None else change(value)
    return replace(value, **{field.name: _mapped(getattr(value, field.name), change) for field in fields(value)})
