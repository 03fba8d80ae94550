"""The pieces of the output layer: large where launches cost more than memory, and without influence on the result."""

from __future__ import annotations

import pytest
import torch
from device_watch import DeviceWatch

from mdnmt.models import cross_entropy
from mdnmt.models.cross_entropy import linear_cross_entropy, piece_rows, vocab_padding

CPU, CUDA = torch.device("cpu"), torch.device("cuda", 0)


def test_a_gpu_gets_few_large_pieces() -> None:
    assert [piece_rows(CPU, size) for size in (1_000, 8_192, 32_768)] == [1_048, 128, 128]
    assert [piece_rows(CUDA, size) for size in (8_192, 32_768, 1 << 20)] == [8_192, 2_048, 128]


def test_the_size_of_a_piece_changes_launches_and_not_the_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = torch.Generator().manual_seed(1)
    hidden = torch.randn(1_000, 8, generator=generator, dtype=torch.float64)
    weight = torch.randn(9_000, 8, generator=generator, dtype=torch.float64)
    labels = torch.randint(9_000, (1_000,), generator=generator)
    found = []
    for entries in (cross_entropy.PIECE_ENTRIES["cpu"], cross_entropy.PIECE_ENTRIES_ELSEWHERE):
        monkeypatch.setitem(cross_entropy.PIECE_ENTRIES, "cpu", entries)
        leaves = hidden.clone().requires_grad_(), weight.clone().requires_grad_()
        with DeviceWatch("cpu") as watch:
            loss = linear_cross_entropy(*leaves, labels, 0.1)
            loss.backward()  # type: ignore[no-untyped-call]
        found.append((loss, *(leaf.grad for leaf in leaves), watch))
    many, few = found
    for one, other in zip(many[:3], few[:3], strict=True):
        torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-12)
    assert 5 * few[3].operators < many[3].operators
    assert few[3].count("synchronisation") == 0


@pytest.mark.parametrize("weighted", [False, True])
def test_padding_of_the_vocabulary_changes_neither_loss_nor_gradients(
    weighted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert [vocab_padding(CUDA, size) for size in (64, 65, 8_074)] == [0, 63, 54]
    assert vocab_padding(CPU, 65) == 0
    generator = torch.Generator().manual_seed(1)
    hidden = torch.randn(300, 8, generator=generator, dtype=torch.float64)
    weight = torch.randn(37, 8, generator=generator, dtype=torch.float64)
    labels = torch.randint(37, (300,), generator=generator)
    word_weights = torch.rand(300, generator=generator, dtype=torch.float64) if weighted else None
    found = []
    for multiple in (1, 64):
        monkeypatch.setitem(cross_entropy.VOCAB_MULTIPLE, "cpu", multiple)
        leaves = hidden.clone().requires_grad_(), weight.clone().requires_grad_()
        loss = linear_cross_entropy(*leaves, labels, 0.1, word_weights)
        loss.backward()  # type: ignore[no-untyped-call]
        found.append((loss, *(leaf.grad for leaf in leaves)))
    torch.testing.assert_close(*found, rtol=1e-12, atol=1e-12)


def test_logits_that_no_exponential_can_hold_give_the_loss_of_torch() -> None:
    hidden = torch.tensor([[300.0], [-300.0]], requires_grad=True)
    weight = torch.tensor([[1.0], [-1.0], [0.5]], requires_grad=True)
    labels = torch.tensor([1, 0])  # the least likely word of both rows
    loss = linear_cross_entropy(hidden, weight, labels, 0.1)
    loss.backward()  # type: ignore[no-untyped-call]
    gradients = hidden.grad, weight.grad
    hidden.grad = weight.grad = None
    expected = torch.nn.functional.cross_entropy(hidden @ weight.t(), labels, reduction="sum", label_smoothing=0.1)
    expected.backward()  # type: ignore[no-untyped-call]
    torch.testing.assert_close(loss, expected)
    torch.testing.assert_close(gradients, (hidden.grad, weight.grad))
