"""The attention that a GPU computes equals the formula, also where a head's width is no multiple of eight."""

from __future__ import annotations

import math

import pytest
import torch

from mdnmt.models.attention import HEAD_MULTIPLE, fused_attention


@pytest.mark.parametrize("kernels", ["plain"], indirect=True)
@pytest.mark.parametrize("width", [5, 8, 11])  # enlarged models have heads 181 or 222 wide
def test_heads_are_padded_for_the_fused_kernel_and_cut_again(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    q, k, v = (torch.randn(2, 3, 4, width, dtype=torch.float64, requires_grad=True) for _ in range(3))
    mask = torch.tensor([[True] * 4, [True, True, False, False]])[:, None, None, :]
    attend, widths = torch.nn.functional.scaled_dot_product_attention, list[int]()

    def watched(query: torch.Tensor, *arguments: object, **options: object) -> torch.Tensor:
        widths.append(query.size(-1))
        return attend(query, *arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr("torch.nn.functional.scaled_dot_product_attention", watched)
    found = fused_attention(q, k, v, mask)
    scores = (q @ k.transpose(-1, -2) / math.sqrt(width)).masked_fill(~mask, -math.inf)
    expected = scores.softmax(-1) @ v
    assert widths[0] % HEAD_MULTIPLE == 0 and widths[0] - width < HEAD_MULTIPLE
    torch.testing.assert_close(found, expected)
    for ours, theirs in zip(
        torch.autograd.grad(found.sum(), (q, k, v)), torch.autograd.grad(expected.sum(), (q, k, v)), strict=True
    ):
        torch.testing.assert_close(ours, theirs)
