"""Attention by batched products equals the formula, word by word, and so do its gradients, whatever the type is."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from mdnmt.models.attention import fused_attention
from mdnmt.models.kernels import using
from mdnmt.models.kernels.scored_attention import scored_attention

HEADS, WIDTH = 2, 8


def inputs(queries: int, keys: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return Q, K, V as views of [B, T, H E], as blocks make them, and a mask with unlike lengths."""
    generator = torch.Generator().manual_seed(3)

    def made(length: int) -> Tensor:
        x_BTD = torch.randn(3, length, HEADS * WIDTH, generator=generator, dtype=torch.float64)
        return x_BTD.view(3, length, HEADS, WIDTH).transpose(1, 2)

    mask_BS = torch.arange(keys) < torch.tensor([[keys], [1], [keys - 1]])
    return made(queries), made(keys), made(keys), mask_BS[:, None, None, :]


def slow_attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, is_causal: bool) -> Tensor:
    """Vaswani et al. 2017, eq. 1, one query at a time."""
    rows = []
    for b in range(q.size(0)):
        for h in range(HEADS):
            for t in range(q.size(2)):
                seen = [
                    s
                    for s in range(k.size(2))
                    if (mask is None or bool(mask[b, 0, 0, s])) and not (is_causal and s > t)
                ]
                scores = torch.stack([q[b, h, t] @ k[b, h, s] / math.sqrt(WIDTH) for s in seen])
                weights = scores.exp() / scores.exp().sum()
                rows.append(sum(weight * v[b, h, s] for weight, s in zip(weights, seen, strict=True)))
    return torch.stack(rows).view_as(q)


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize(
    ("dtype", "tolerance"), [(torch.float64, 1e-12), (torch.float32, 2e-6), (torch.bfloat16, 0.03)]
)
def test_it_equals_the_formula(dtype: torch.dtype, tolerance: float, is_causal: bool) -> None:
    q, k, v, mask = inputs(5, 5 if is_causal else 7)
    chosen = None if is_causal else mask
    y_grad = torch.randn(q.shape, generator=torch.Generator().manual_seed(4), dtype=torch.float64)
    # What rounding the inputs does is not what is asked here.
    q, k, v, y_grad = (x.to(dtype).double() for x in (q, k, v, y_grad))
    exact = [x.detach().requires_grad_() for x in (q, k, v)]
    expected = slow_attention(*exact, chosen, is_causal)
    found_in = [x.to(dtype).detach().requires_grad_() for x in (q, k, v)]
    found = fused_attention(*found_in, chosen, is_causal=is_causal)
    assert found.dtype == dtype and found.shape == expected.shape
    scale = expected.abs().max().item()
    assert (found.double() - expected).abs().max().item() < tolerance * scale
    for mine, true in zip(
        torch.autograd.grad(found, found_in, y_grad.to(dtype)),
        torch.autograd.grad(expected, exact, y_grad),
        strict=True,
    ):
        assert mine.dtype == dtype
        assert (mine.double() - true).abs().max().item() < tolerance * true.abs().max().item()


def test_translation_and_training_see_the_same() -> None:
    q, k, v, mask = inputs(4, 6)
    with torch.no_grad():
        translated = fused_attention(q, k, v, mask)
    trained = fused_attention(q.clone().requires_grad_(), k, v, mask)
    torch.testing.assert_close(trained, translated, rtol=1e-12, atol=1e-12)


@pytest.mark.slow
def test_dropped_weights_are_dropped_in_the_gradient_as_well() -> None:
    q, k, v, mask = inputs(4, 6)
    parts = [x.clone().requires_grad_() for x in (q, k, v)]

    def attend(*changed: Tensor) -> Tensor:
        torch.manual_seed(5)  # the same weights each time
        return scored_attention(*changed, mask, dropout=0.4, is_causal=False)

    assert torch.autograd.gradcheck(attend, parts)
    torch.manual_seed(6)
    other = scored_attention(*parts, mask, dropout=0.4, is_causal=False)
    assert not torch.allclose(other, attend(*parts))


def test_dropout_keeps_the_mean() -> None:
    q, k, v, mask = inputs(4, 6)
    torch.manual_seed(7)
    mean = sum(scored_attention(q, k, v, mask, dropout=0.3, is_causal=False) for _ in range(4000)) / 4000
    plain = scored_attention(q, k, v, mask, dropout=0.0, is_causal=False)
    torch.testing.assert_close(mean, plain, rtol=0, atol=0.1)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("width", [8, 5, 45])
def test_heads_of_odd_widths_are_padded_for_the_fused_kernel(
    width: int, masked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    generator = torch.Generator().manual_seed(1)
    q, k, v = (torch.randn(2, 3, 6, width, generator=generator, dtype=torch.float64) for _ in range(3))
    mask = torch.arange(6).expand(2, 1, 1, 6) < torch.tensor([6, 4])[:, None, None, None] if masked else None
    widths, attend = [], torch.nn.functional.scaled_dot_product_attention

    def watched(*parts: Tensor, **options: Any) -> Tensor:
        widths.append(parts[0].size(-1))
        return attend(*parts, **options)

    monkeypatch.setattr(torch.nn.functional, "scaled_dot_product_attention", watched)
    with using("plain"):
        found = fused_attention(q, k, v, mask)
    scores = (q @ k.transpose(-1, -2)) / width**0.5
    expected = (scores if mask is None else scores.masked_fill(~mask, -math.inf)).softmax(-1) @ v
    torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-10)
    assert widths == [-(-width // 8) * 8]
