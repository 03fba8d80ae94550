"""Dropout of cheap random bits drops as many numbers as it says, independently, and passes gradients where it kept."""

from __future__ import annotations

import pytest
import torch

from mdnmt.models.dropout import dropout
from mdnmt.models.kernels.packed_dropout import LEVELS, draw_kept

COUNT = 400_003  # no multiple of four


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("rate", [0.1, 0.5])
def test_the_share_and_the_mean(dtype: torch.dtype, rate: float) -> None:
    torch.manual_seed(1)
    x = torch.ones(COUNT, dtype=dtype)
    y = dropout(x, rate, True)
    dropped = (y == 0).double().mean().item()
    assert dropped == pytest.approx(rate, abs=4 * (rate * (1 - rate) / COUNT) ** 0.5 + 1 / LEVELS)
    assert y[y != 0].unique().tolist() == pytest.approx([1 / (1 - rate)], rel=torch.finfo(dtype).eps + 1 / LEVELS)
    assert y.dtype == dtype


def test_the_gradient_is_that_of_what_was_kept() -> None:
    torch.manual_seed(1)
    for dtype in (torch.float64, torch.bfloat16):
        x = torch.full((50, 30), 3.0, dtype=dtype).t().requires_grad_()  # not contiguous
        y = dropout(x, 0.25, True)
        (gradient,) = torch.autograd.grad(y, x, torch.full_like(y, 3.0))
        assert torch.equal(gradient, y)


def test_neighbours_are_independent() -> None:
    torch.manual_seed(1)
    dropped = (draw_kept(torch.Size([COUNT]), 0.3) == 0).double() - 0.3
    for lag in (1, 2, 3, 4, 8):
        both = (dropped[lag:] * dropped[:-lag]).mean().item()
        assert abs(both) < 5 * 0.21 / COUNT**0.5


def test_it_follows_the_generator_and_nothing_else() -> None:
    def drawn(seed: int) -> torch.Tensor:
        torch.manual_seed(seed)
        return dropout(torch.ones(1000), 0.1, True)

    assert torch.equal(drawn(2), drawn(2))
    assert not torch.equal(drawn(2), drawn(3))
    state = torch.get_rng_state()
    first = drawn(4)
    torch.set_rng_state(state)
    x = torch.ones(1000)
    for same in (dropout(x, 0.0, True), dropout(x, 0.9, False)):
        assert torch.equal(same, x)
    assert torch.equal(torch.get_rng_state(), state)
    assert not torch.equal(first, x)
