"""Adam with decoupled weight decay, its state kept by parameter name so that it can be saved without pickle."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from mdnmt.config.training import Training
from mdnmt.errors import CheckpointError


class Optimiser:
    """torch's AdamW over the named parameters of a model; each update is given its learning rate."""

    def __init__(self, model: nn.Module, recipe: Training) -> None:
        self.named = dict(model.named_parameters())
        self.adam = torch.optim.AdamW(
            self.named.values(),
            lr=recipe.learning_rate,
            betas=recipe.adam_betas,
            eps=recipe.adam_eps,
            weight_decay=recipe.weight_decay,
            fused=True,
        )

    def step(self, learning_rate: float) -> None:
        """Update the weights from their gradients and forget the gradients."""
        for group in self.adam.param_groups:
            group["lr"] = learning_rate
        self.adam.step()
        self.adam.zero_grad(set_to_none=True)

    def state(self) -> dict[str, Tensor]:
        """Return the state as tensors named `<parameter>/<quantity>`."""
        return {
            f"{name}/{quantity}": value.clone()
            for name, parameter in self.named.items()
            for quantity, value in self.adam.state.get(parameter, {}).items()
        }

    def load(self, state: dict[str, Tensor]) -> None:
        """Take over a state as `state()` returned it, in place of what was there.

        Raises:
            CheckpointError: the state names a parameter that the model does not have.
        """
        self.adam.state.clear()
        for key, value in state.items():
            name, _, quantity = key.rpartition("/")
            if name not in self.named:
                raise CheckpointError(f"the optimiser state names {name!r}, which the model does not have")
            # Counters stay where the optimiser keeps them; moments live beside their parameter.
            parameter = self.named[name]
            self.adam.state[parameter][quantity] = value.to(parameter.device, copy=True)
