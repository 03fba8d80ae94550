"""A term of a loss for all layers of a model: at once, which a GPU launches as one, or one layer after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from mdnmt.models.kernels import takes_cpu_kernel


def each_layer(term: Callable[[Tensor], Tensor], layers: Sequence[Tensor]) -> Tensor:
    """Return term(layer) of all L layers, [L].

    Args:
        term: maps a tensor [..., B, T, N] to [...].
        layers: the tensors [B, T, N] of the layers, all of one shape.
    """
    if takes_cpu_kernel(layers[0]):
        return torch.stack([term(layer) for layer in layers])
    return term(torch.stack(list(layers)))


def sum_over_layers(term: Callable[[Tensor], Tensor], layers: Sequence[Tensor], total: Tensor) -> Tensor:
    """Return a scalar plus term(layer) of all layers."""
    if takes_cpu_kernel(layers[0]):
        for layer in layers:
            total = total + term(layer)
        return total
    return total + each_layer(term, layers).sum()
