"""The fused loss against the plain form, on a GPU or in Triton's interpreter."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from mdnmt import gpu
from mdnmt.models import cross_entropy
from mdnmt.models.cross_entropy import linear_cross_entropy
from mdnmt.models.kernels import using
from mdnmt.tasks.task_data import TaskData
from mdnmt.train.device import choose_device, make_deterministic
from mdnmt.train.forward_backward import forward_backward
from mdnmt.train.layout import make_batch
from mdnmt.train.run import build_method
from mdnmt.train.sharding import Shard

CARDS = gpu.count_visible()
pytest.importorskip("triton", reason="Triton is an optional package")

DEVICE = torch.device("cuda" if CARDS else "cpu")
EXACT = {"rtol": 1e-5, "atol": 1e-5} if CARDS else {"rtol": 2e-6, "atol": 2e-6}
TOKENS, WIDTH, VOCAB = 21, 16, 70


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut 21 tokens into pieces of 8, and the padded vocabulary of 128 columns into blocks of 32; reserve the GPU."""
    choose_device(DEVICE.type)
    monkeypatch.setattr(cross_entropy, "piece_rows", lambda device, vocab_size: 8)
    monkeypatch.setitem(cross_entropy.VOCAB_MULTIPLE, "cpu", 64)
    monkeypatch.setattr("mdnmt.models.kernels.fused_loss.BLOCK", 32)


def numbers(scale: float = 1.0) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(1)
    hidden, weight = (torch.randn(rows, WIDTH, generator=generator) * scale for rows in (TOKENS, VOCAB))
    labels = torch.randint(VOCAB, (TOKENS,), generator=generator)
    return hidden.to(DEVICE), weight.to(DEVICE), labels.to(DEVICE)


def computed(kernels: Any, smoothing: float, how: dict[str, Tensor], dtype: torch.dtype | None = None) -> list[Tensor]:
    """Return loss, losses of tokens, and both gradients of 3 times the loss."""
    hidden, weight, labels = numbers()
    leaves = hidden.requires_grad_(), weight.requires_grad_()
    token_loss = torch.full((TOKENS,), torch.nan, device=DEVICE)
    with using(kernels), torch.autocast(DEVICE.type, dtype, enabled=dtype is not None):
        loss = linear_cross_entropy(*leaves, labels, smoothing, token_loss_N=token_loss, **how)
    return [loss.detach(), token_loss, *torch.autograd.grad(3.0 * loss, leaves)]


def options(weighted: bool, masked: bool) -> dict[str, Tensor]:
    weight = torch.linspace(0.5, 2.0, TOKENS, device=DEVICE)
    mask = torch.arange(TOKENS, device=DEVICE) % 5 != 4
    return {**({"token_weight_N": weight} if weighted else {}), **({"mask_N": mask} if masked else {})}


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize(("weighted", "masked"), [(False, False), (True, False), (False, True), (True, True)])
def test_loss_and_gradients_are_those_of_the_plain_form(smoothing: float, weighted: bool, masked: bool) -> None:
    how = options(weighted, masked)
    found, plain = (computed(kernels, smoothing, how) for kernels in ("triton", "plain"))
    for one, other in zip(found, plain, strict=True):
        assert one.dtype == other.dtype == torch.float32
        torch.testing.assert_close(one, other, **EXACT)
    if masked:
        assert not found[1][4::5].any() and not found[2][4::5].any()
    again = computed("triton", smoothing, how)
    assert all(map(torch.equal, found, again))


def test_bf16_products_round_like_those_of_the_plain_form() -> None:
    how = options(True, True)
    found, plain = (computed(kernels, 0.1, how, torch.bfloat16) for kernels in ("triton", "plain"))
    exact = computed("plain", 0.1, how)
    for one, other, wanted in zip(found, plain, exact, strict=True):
        assert (one - wanted).norm() <= 1.2 * (other - wanted).norm() + 1e-6 * wanted.norm()


@pytest.mark.parametrize("all_negative", [False, True])
def test_logits_that_no_exponential_can_hold(all_negative: bool) -> None:
    hidden, weight, labels = numbers(scale=30.0)  # logits up to about 10,000
    if all_negative:  # so that those of the padded vocabulary, which are 0, would be the largest
        hidden, weight = hidden.abs(), -weight.abs()
    found = []
    for kernels in ("triton", "plain"):
        with using(kernels):  # type: ignore[arg-type]
            leaves = hidden.clone().requires_grad_(), weight.clone().requires_grad_()
            loss = linear_cross_entropy(*leaves, labels, 0.1)
            found.append((loss.detach(), *torch.autograd.grad(loss, leaves)))
    torch.testing.assert_close(*found, rtol=1e-5, atol=1e-4)


def test_without_gradients_only_the_loss_is_computed() -> None:
    with using("triton"), torch.no_grad():
        loss = linear_cross_entropy(*numbers(), 0.1)
    torch.testing.assert_close(loss, computed("plain", 0.1, {})[0])


def test_nan_stays_nan_and_float64_takes_the_plain_form() -> None:
    hidden, weight, labels = numbers()
    with using("triton"):
        assert linear_cross_entropy(hidden.index_fill(0, labels[:1] % TOKENS, torch.nan), weight, labels).isnan()
        assert linear_cross_entropy(hidden.double(), weight.double(), labels).dtype == torch.float64


@pytest.mark.parametrize("layout", ["padded", "packed"])
def test_an_update_and_the_sums_of_domains_are_those_of_the_plain_form(
    layout: Any, make_spec: Any, toy_task: Path
) -> None:
    spec, data = (
        make_spec("word_context", architecture={"dropout": 0.0, "weighted_loss": "aligned"}),
        TaskData.load(toy_task),
    )
    found = []
    for kernels in ("triton", "plain"):
        make_deterministic(spec.seed, None)
        method, rows = build_method(spec, data, DEVICE), np.arange(4, dtype=np.int64)
        batch = make_batch(data.split("train"), Shard(0, rows, rows), spec.training, method, layout, 1)
        with using(kernels):  # type: ignore[arg-type]
            result = forward_backward(method, [batch], spec.training, DEVICE, None, num_domains=len(spec.domains))
        gradients = {name: p.grad for name, p in method.model.named_parameters() if p.grad is not None}
        found.append((result.losses, result.domain_sums, gradients))
    torch.testing.assert_close(*found, **EXACT)
