"""The pieces of the output layer: large where launches cost more than memory, and without influence on the result."""

from __future__ import annotations

import pytest
import torch

from mdnmt.models import cross_entropy
from mdnmt.models.cross_entropy import linear_cross_entropy, piece_rows
from mdnmt.train.device_watch import DeviceWatch

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
