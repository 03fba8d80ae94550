"""Adam with decoupled weight decay; its state is kept by parameter name, so that it can be saved without pickle."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim.adamw import adamw

from mdnmt.config.training import Training
from mdnmt.errors import CheckpointError


class Optimiser:
    """torch's AdamW over the named parameters of a model; the caller passes the learning rate of each update.

    This calls the function behind `torch.optim.AdamW`. Constructing the class itself would import torch's compiler,
    which takes longer than the training of many a small model.
    """

    def __init__(self, model: nn.Module, recipe: Training) -> None:
        self.named = dict(model.named_parameters())
        self._state: dict[str, dict[str, Tensor]] = {}
        device = next(iter(self.named.values())).device
        # Overwritten by each update. On a CPU torch reads it as a double; a GPU's kernel takes a float alone.
        self.rate = torch.zeros((), dtype=torch.float64 if device.type == "cpu" else torch.float32, device=device)
        beta1, beta2 = recipe.adam_betas
        self._options: dict[str, Any] = {
            "beta1": beta1,
            "beta2": beta2,
            "eps": recipe.adam_eps,
            "weight_decay": recipe.weight_decay,
            "amsgrad": False,
            "maximize": False,
            "fused": True,
        }

    def step(self, learning_rate: float) -> None:
        """Update the weights from their gradients, then set the gradients to None."""
        self.rate.fill_(learning_rate)
        self.move()

    @torch.no_grad()
    def move(self) -> None:
        """Do the same with the rate as it is; nothing in here depends on the update, so that it can be recorded."""
        moved = {name: parameter for name, parameter in self.named.items() if parameter.grad is not None}
        for name, parameter in moved.items():
            if name not in self._state:
                self._state[name] = _nothing_yet(parameter)
        states = [self._state[name] for name in moved]
        adamw(
            list(moved.values()),
            [parameter.grad for parameter in moved.values() if parameter.grad is not None],
            [state["exp_avg"] for state in states],
            [state["exp_avg_sq"] for state in states],
            [],
            [state["step"] for state in states],
            lr=self.rate,
            **self._options,
        )
        for parameter in moved.values():
            parameter.grad = None

    def tensors(self, names: Iterable[str]) -> dict[str, Tensor]:
        """Return parameters, and their state, themselves: what a step overwrites."""
        found: dict[str, Tensor] = {}
        for name in names:
            parameter = self.named[name]
            state = self._state.setdefault(name, _nothing_yet(parameter))
            found |= {name: parameter, **{f"{name}/{quantity}": value for quantity, value in state.items()}}
        return found

    def state(self) -> dict[str, Tensor]:
        """Return the state as tensors named `<parameter>/<quantity>`."""
        return {
            f"{name}/{quantity}": value.clone()
            for name, state in self._state.items()
            for quantity, value in state.items()
        }

    def load(self, state: dict[str, Tensor]) -> None:
        """Replace the state by one that `state()` returned.

        Raises:
            CheckpointError: the state names a parameter that the model does not have.
        """
        self._state.clear()
        for key, value in state.items():
            name, _, quantity = key.rpartition("/")
            if name not in self.named:
                raise CheckpointError(f"the optimiser state names {name!r}, which the model does not have")
            self._state.setdefault(name, {})[quantity] = value.to(self.named[name].device, copy=True)


def _nothing_yet(parameter: Tensor) -> dict[str, Tensor]:
    """Return the state of a parameter before its first update, under torch's names."""
    return {
        "step": torch.zeros((), device=parameter.device),
        "exp_avg": torch.zeros_like(parameter),
        "exp_avg_sq": torch.zeros_like(parameter),
    }
