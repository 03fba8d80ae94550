"""A number that changes during training, as a pure function of the update."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor


class Scheduled:
    """Holds the value of the current update in one tensor of the model's device, which every update overwrites.

    So a new value triggers no recompilation, and a recorded update reads the value of its own time.
    """

    def __init__(self, function: Callable[[int, int], float]) -> None:
        """Make the schedule; `function` maps (update, from 1; number of updates in all) to the value."""
        self.function = function
        self.value: Tensor = torch.tensor(function(1, 1))

    def to(self, device: torch.device) -> None:
        """Move the tensor, before anything reads it."""
        self.value = self.value.to(device)

    def set(self, update: int, max_updates: int) -> None:
        """Set the value for an update. It is a function of the update, so checkpoints need not save it."""
        self.value.fill_(self.function(update, max_updates))
