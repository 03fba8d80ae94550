"""Weighing and summing by shares: values and derivatives are those of the plain formulas."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from mdnmt.models.context import DomainContext
from mdnmt.models.experts import Experts
from mdnmt.models.kernels import weighted_sum
from mdnmt.models.projection import MixedLinear

WORDS, PARTS, WIDTH = 7, 3, 5


def plain_weighed(x_ND: Tensor, share_NK: Tensor) -> Tensor:
    return torch.stack([share_NK[:, k, None] * x_ND for k in range(PARTS)], dim=1)


def plain_sum(parts_NKD: Tensor, share_NK: Tensor) -> Tensor:
    return torch.stack([share_NK[:, k, None] * parts_NKD[:, k] for k in range(PARTS)]).sum(0)


CASES = {
    "weighed": (weighted_sum.weighted, plain_weighed, (WORDS, WIDTH)),
    "sum": (weighted_sum.weighted_sum, plain_sum, (WORDS, PARTS, WIDTH)),
}


@pytest.fixture(autouse=True)
def seeded() -> None:
    torch.manual_seed(6)


@pytest.mark.parametrize("case", CASES)
def test_values_and_derivatives_are_those_of_the_formula(case: str) -> None:
    found_by, expected_by, shape = CASES[case]
    values = torch.randn(shape, dtype=torch.float64, requires_grad=True)
    share_NK = torch.rand(WORDS, PARTS, dtype=torch.float64, requires_grad=True)
    found, expected = found_by(values, share_NK), expected_by(values, share_NK)
    assert torch.allclose(found, expected, rtol=1e-12, atol=1e-12)
    weights = torch.randn_like(found)
    mine = torch.autograd.grad((found * weights).sum(), [values, share_NK])
    theirs = torch.autograd.grad((expected * weights).sum(), [values, share_NK])
    for one, other in zip(mine, theirs, strict=True):
        assert torch.allclose(one, other, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("case", CASES)
def test_only_what_is_wanted_gets_a_derivative(case: str) -> None:
    function, _, shape = CASES[case]
    values, share_NK = torch.randn(shape, requires_grad=True), torch.rand(WORDS, PARTS)
    function(values, share_NK).sum().backward()
    assert values.grad is not None and share_NK.grad is None


def test_shares_that_stand_once_for_many_words_are_taken_as_they_are() -> None:
    parts, share = torch.randn(2, 4, PARTS, WIDTH), torch.rand(2, 1, PARTS).expand(-1, 4, -1)
    expected = sum(share[..., k, None] * parts[..., k, :] for k in range(PARTS))
    assert torch.allclose(weighted_sum.weighted_sum(parts, share), expected, atol=1e-6)


def mixed(in_dim: int, out_dim: int) -> tuple[torch.nn.Module, Callable[[torch.nn.Module, Tensor, Tensor], Tensor]]:
    return MixedLinear(in_dim, out_dim, num_domains=PARTS), lambda layer, x, share: layer(
        x, DomainContext(proportion_BTK=share)
    )


def experts() -> tuple[torch.nn.Module, Callable[[torch.nn.Module, Tensor, Tensor], Tensor]]:
    return Experts(16, 24, PARTS), lambda layer, x, share: layer(x, share)


@pytest.mark.parametrize("make", [lambda: mixed(16, 24), lambda: mixed(24, 16), experts], ids=["in", "out", "experts"])
@pytest.mark.parametrize(("dtype", "error"), [(torch.float32, 2e-6), (torch.bfloat16, 2e-2)], ids=["fp32", "bf16"])
def test_rounding_is_bounded_against_float64(make: Callable[[], tuple], dtype: torch.dtype, error: float) -> None:
    layer, call = make()
    for parameter in layer.parameters():
        torch.nn.init.normal_(parameter)
    in_dim = 24 if isinstance(layer, MixedLinear) and not layer.sum_inside else 16
    x_BTD, share_BTK = torch.randn(4, 6, in_dim, requires_grad=True), torch.rand(4, 6, PARTS).softmax(-1)

    def run(x_BTD: Tensor, share_BTK: Tensor) -> list[Tensor]:
        y = call(layer, x_BTD, share_BTK)
        return [y, *torch.autograd.grad(y.sum(), [x_BTD, *layer.parameters()])]

    with torch.autocast("cpu", dtype, enabled=dtype == torch.bfloat16):
        found = run(x_BTD, share_BTK)
    layer.double()
    expected = run(x_BTD.detach().double().requires_grad_(), share_BTK.double())
    for one, other in zip(found, expected, strict=True):
        assert (one - other).norm() / other.norm() < error
