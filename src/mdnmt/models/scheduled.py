"""A number that changes during training, as a pure function of the update."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor


class Scheduled:
    """Holds the value of the current update, as a tensor, so that a new value triggers no recompilation."""

    def __init__(self, function: Callable[[int, int], float]) -> None:
        """Make the schedule; `function` maps (update, from 1; number of updates in all) to the value."""
        self.function = function
        self.value: Tensor = torch.tensor(function(1, 1))

    def set(self, update: int, max_updates: int) -> None:
        """Set the value for an update. It is a function of the update, so checkpoints need not save it."""
        self.value.fill_(self.function(update, max_updates))
