"""The sum of experts in pieces: values, derivatives and dropped numbers are the formula's, however it is cut."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from mdnmt.models.kernels import expert_sum
from mdnmt.models.kernels.packed_dropout import draw_kept, keep

WORDS, EXPERTS, HIDDEN, DIM = 7, 3, 4, 5
COLUMNS = EXPERTS * HIDDEN


def arguments(dtype: torch.dtype = torch.float64) -> list[Tensor]:
    torch.manual_seed(6)
    shapes = ((WORDS, DIM), (WORDS, EXPERTS), (COLUMNS, DIM), (COLUMNS,), (DIM, COLUMNS))
    return [torch.randn(shape, dtype=dtype, requires_grad=True) for shape in shapes]


def formula(x_MD: Tensor, share_MN: Tensor, first_ED: Tensor, bias_E: Tensor, second_DE: Tensor, rate: float) -> Tensor:
    hidden_ME = torch.where((y := x_MD @ first_ED.t() + bias_E) > 0, y, 0.0) * share_MN.repeat_interleave(HIDDEN, 1)
    if rate:
        hidden_ME = keep(hidden_ME, draw_kept(hidden_ME.shape, rate), rate)
    return hidden_ME @ second_DE.t()


@pytest.mark.parametrize("rows", [1, 2, WORDS, 100])
@pytest.mark.parametrize("rate", [0.0, 0.4])
def test_values_and_derivatives_are_those_of_the_formula(
    monkeypatch: pytest.MonkeyPatch, rows: int, rate: float
) -> None:
    monkeypatch.setattr(expert_sum, "MIN_PIECE_ROWS", 1)
    monkeypatch.setattr(expert_sum, "PIECE_ENTRIES", rows * COLUMNS)
    given, weights_MD = arguments(), torch.randn(WORDS, DIM, dtype=torch.float64)
    results = []
    for function in (expert_sum.expert_sum, formula):
        torch.manual_seed(8)
        y_MD = function(*given, rate)
        results.append([y_MD, *torch.autograd.grad((y_MD * weights_MD).sum(), given)])
    for mine, theirs in zip(*results, strict=True):
        assert torch.allclose(mine, theirs, rtol=1e-12, atol=1e-12)


def test_a_piece_is_smaller_than_what_is_mapped_anew() -> None:
    for columns in (COLUMNS, 1024, 4 * 1024, 16 * 1024):
        rows = list(expert_sum._pieces(100_000, columns))
        assert [one.start for one in rows[1:]] == [one.stop for one in rows[:-1]] and rows[-1].stop >= 100_000
        assert all((one.stop - one.start) * columns * 4 < 32 << 20 for one in rows)


def test_gradients_of_rounded_products_are_summed_in_float32(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expert_sum, "MIN_PIECE_ROWS", 1)
    monkeypatch.setattr(expert_sum, "PIECE_ENTRIES", COLUMNS)
    given = [one.detach() for one in arguments(torch.float32)]
    given[:2] = given[0].repeat(100, 1), given[1].repeat(100, 1)  # so many that sums in bfloat16 would stand still
    found = [one.requires_grad_() for one in given]
    expected = [one.detach().double().requires_grad_() for one in given]
    with torch.autocast("cpu", torch.bfloat16):
        y_MD = expert_sum.expert_sum(*found, 0.0)
    assert y_MD.dtype == torch.bfloat16
    y_MD.float().sum().backward()
    formula(*expected, 0.0).sum().backward()
    for mine, theirs in zip(found, expected, strict=True):
        assert mine.grad is not None and theirs.grad is not None and mine.grad.dtype == torch.float32
        assert (mine.grad - theirs.grad).norm() < 0.02 * theirs.grad.norm()
