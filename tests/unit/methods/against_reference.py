"""What the tests share that hold a method against its slow reference, or against a size in print."""

from __future__ import annotations

import random
from typing import Any

import pytest
import torch
from torch import Tensor

from mdnmt.methods import build, validate
from mdnmt.methods.method import VocabSizes

TOLERANCE = {torch.float64: 1e-6, torch.float32: 1e-5}
both_norms = pytest.mark.parametrize("norm", ["pre", "post"])
# The float32 model is compared with the reference on its own weights: only the arithmetic differs.
both_types = pytest.mark.parametrize(
    ("kernels", "dtype"),
    [("plain", torch.float64), ("cpu", torch.float32)],
    indirect=["kernels"],
    ids=["plain-float64", "cpu-float32"],
)


def sentences(lengths: list[int], seed: int, vocab: int = 29) -> list[list[int]]:
    """Return random sentences of these lengths, </s> included."""
    generator = random.Random(seed)
    return [[*(generator.randrange(3, vocab) for _ in range(length - 1)), 2] for length in lengths]


def weights_of(method: Any) -> dict[str, Tensor]:
    return {name: value.detach().double() for name, value in method.model.state_dict().items()}


def relative_error(found: Tensor, expected: Tensor) -> float:
    return ((found.double() - expected).abs().max() / expected.abs().max()).item()


def gradients(method: Any, batch: Any, loss_name: str) -> dict[str, Tensor | None]:
    """Return the gradient of one loss for every parameter."""
    output = method.model(batch)
    [loss] = [loss(output, batch) for loss in method.losses if loss.name == loss_name]
    named = dict(method.model.named_parameters())
    return dict(zip(named, torch.autograd.grad(loss, list(named.values()), allow_unused=True), strict=True))


def reached(found: dict[str, Tensor | None]) -> set[str]:
    """Return the parameters that have a gradient which is not zero."""
    return {name for name, value in found.items() if value is not None and bool(value.any())}


def num_parameters(builder: str, rows: int = 29_200, num_domains: int = 4, **options: Any) -> int:
    """Return how many parameters a model has with so many rows in each of its embeddings.

    With 29,200 rows, nothing tied, base and big Transformer have the 89 M and 266 M of Song et al. 2026, Table 4.
    """
    with torch.device("meta"):
        method = build(builder, validate(builder, options, where="test"), VocabSizes(rows, rows, False), num_domains)
    return sum(parameter.numel() for parameter in method.model.parameters())
