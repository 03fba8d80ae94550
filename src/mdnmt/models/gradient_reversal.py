"""Functions that change only the gradient: in the forward pass they are the identity."""

from __future__ import annotations

from typing import Any, Literal

import torch
from torch import Tensor

# detach: no gradient; pass: unchanged; reverse: with the opposite sign; half: reversed for the first half of features.
GradientLink = Literal["detach", "pass", "reverse", "half"]


class _ReverseGradient(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x_BTD: Tensor, num_features: int, strength: float) -> Tensor:
        ctx.num_features, ctx.strength = num_features, strength
        return x_BTD.view_as(x_BTD)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        first, rest = gradients[0].tensor_split([ctx.num_features], dim=-1)
        return torch.cat([-ctx.strength * first, rest], dim=-1), None, None


def reverse_gradient(x_BTD: Tensor, *, strength: float = 1.0, num_features: int | None = None) -> Tensor:
    """Return x; its gradient is multiplied by -strength (Ganin and Lempitsky 2015, sec. 3).

    Args:
        x_BTD: features, [..., D].
        strength: lambda.
        num_features: how many features, from the first, have their gradient reversed; None: all.
    """
    if num_features is None:
        num_features = x_BTD.size(-1)
    reversed_BTD: Tensor = _ReverseGradient.apply(x_BTD, num_features, strength)  # type: ignore[no-untyped-call]
    return reversed_BTD


def link_gradient(x_BTD: Tensor, gradient: GradientLink) -> Tensor:
    """Return x [..., D]; `gradient` says how its gradient is passed back (Jiang et al. 2020, sec. 4.2)."""
    if gradient == "detach":
        return x_BTD.detach()
    if gradient == "pass":
        return x_BTD
    return reverse_gradient(x_BTD, num_features=x_BTD.size(-1) // 2 if gradient == "half" else None)
