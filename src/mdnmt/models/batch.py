"""The input of a model: a padded batch of sentence pairs with their domain labels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace

import torch
from torch import Tensor


@dataclass(frozen=True)
class Batch:
    """Sentence pairs, padded on the right.

    Attributes:
        source_BS: source ids, ended by </s>.
        source_mask_BS: True at real source tokens.
        target_BT: decoder input ids: <s> and the target without its last id.
        target_mask_BT: True at real decoder inputs.
        label_N: the ids to predict, without padding.
        label_index_N: the positions of the labels in the flattened [B * T].
        domain_B: the domain label of each sentence.
    """

    source_BS: Tensor
    source_mask_BS: Tensor
    target_BT: Tensor
    target_mask_BT: Tensor
    label_N: Tensor
    label_index_N: Tensor
    domain_B: Tensor

    @property
    def num_target_tokens(self) -> int:
        """Return the number of labels, </s> included."""
        return self.label_N.numel()

    @property
    def target_words(self) -> Tensor:
        """Return the number of labels as a scalar on the device, where a recorded update reads it anew."""
        return self.target_mask_BT.sum()

    def to(self, device: torch.device) -> Batch:
        """Return the same batch on `device`; a pinned batch is copied asynchronously."""
        return self._map(lambda tensor: tensor.to(device, non_blocking=True))

    def pinned(self) -> Batch:
        """Return the same batch in pinned memory, which a GPU can read without the CPU."""
        return self._map(Tensor.pin_memory)

    def _map(self, change: Callable[[Tensor], Tensor]) -> Batch:
        return replace(self, **{field.name: change(getattr(self, field.name)) for field in fields(self)})
