"""A number that changes in the course of training, as a pure function of how far it has come."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor


class Scheduled:
    """Holds the value of the present update; a tensor, so that a compiled step need not be compiled again for it."""

    def __init__(self, function: Callable[[int, int], float]) -> None:
        """Make it; `function` is given the number of the update (from 1) and that of all updates."""
        self.function = function
        self.value: Tensor = torch.tensor(function(1, 1))

    def set(self, update: int, max_updates: int) -> None:
        """Take the value of an update: nothing needs to be saved for a run to go on."""
        self.value.fill_(self.function(update, max_updates))
