"""The balancing losses where their values are known, and the factor over the course of training."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor

from mdnmt.models.balance_loss import BalanceLoss, EntropyLoss, impact_factor
from mdnmt.models.context import DomainContext
from mdnmt.models.scheduled import Scheduled
from mdnmt.models.transformer import Output

NUM_EXPERTS = 4
ALPHA = Scheduled(lambda update, max_updates: 0.25)
BALANCE, ENTROPY = BalanceLoss(ALPHA), EntropyLoss(ALPHA, 3.0)
EYE = torch.eye(NUM_EXPERTS)


@pytest.fixture
def value(make_batch: Any) -> Any:
    """Return a function (loss, gates) -> its value a target word, alpha left out, for sentences of 1 and 3 words."""
    batch = make_batch([[2], [5, 6, 2]], [[7, 2], [8, 9, 10, 2]], [0, 1])

    def value(loss: Any, *gates_BTN: Tensor) -> float:
        context = DomainContext()
        for gate_BTN in gates_BTN:
            context.record("gate", "encoder", gate_BTN)
        found = loss(Output(torch.zeros(6, 1), torch.zeros(1, 1), context), batch)
        assert found.shape == () and found.dtype == torch.float32
        return float(found) / (6 * 0.25)

    return value


def test_even_use_costs_nothing_however_it_comes_about(value: Any) -> None:
    even = torch.full((2, 3, NUM_EXPERTS), 1 / NUM_EXPERTS)
    assert value(BALANCE, even) == pytest.approx(0, abs=1e-9)
    # Each of the four words has another expert for itself; padding has the first.
    each = torch.stack([EYE[[0, 0, 0]], EYE[[1, 2, 3]]])
    assert value(BALANCE, each) == pytest.approx(0, abs=1e-9)
    assert value(ENTROPY, even) == pytest.approx(3 * math.log(NUM_EXPERTS), rel=1e-6)
    assert value(ENTROPY, each) == pytest.approx(0, abs=1e-6)


def test_one_expert_for_all_words_costs_most(value: Any) -> None:
    one = EYE[torch.zeros(2, 3, dtype=torch.long)]
    n = NUM_EXPERTS
    assert value(BALANCE, one) == pytest.approx(((1 - 1 / n) ** 2 + (n - 1) / n**2) / n)
    assert value(ENTROPY, one) == pytest.approx(0, abs=1e-6)


def test_padding_does_not_count(value: Any) -> None:
    gate = torch.rand(2, 3, NUM_EXPERTS).softmax(-1)
    other = gate.clone()
    other[0, 1:] = EYE[2]
    for loss in (BALANCE, ENTROPY):
        assert value(loss, gate) == value(loss, other) != value(loss, gate.flip(0))


def test_a_gate_for_a_sentence_counts_once_whatever_its_length(value: Any) -> None:
    gate = EYE[torch.tensor([[0], [1]])]
    n = NUM_EXPERTS
    assert value(BALANCE, gate) == pytest.approx((2 * (1 / 2 - 1 / n) ** 2 + (n - 2) / n**2) / n)
    assert value(BALANCE, gate.expand(-1, 3, -1)) != pytest.approx(value(BALANCE, gate))


def test_layers_are_averaged(value: Any) -> None:
    one, other = torch.rand(2, 2, 3, NUM_EXPERTS).softmax(-1)
    for loss in (BALANCE, ENTROPY):
        assert value(loss, one, other) == pytest.approx((value(loss, one) + value(loss, other)) / 2, rel=1e-5)


def test_the_factor_rises_and_falls() -> None:
    factor = partial(impact_factor, max_updates=1000, high=0.1, low=0.01, start=0, end=None)
    assert factor(500, lifted=False) == pytest.approx(0.09)  # H - L, not H
    assert factor(500, lifted=True) == pytest.approx(0.1)
    assert factor(1, lifted=False) == factor(1000, lifted=False) == pytest.approx(0.01)
    assert factor(250, lifted=False) == pytest.approx(0.09 * math.sin(math.pi / 4))
    assert factor(250, lifted=False) == pytest.approx(factor(750, lifted=False))


def test_the_factor_is_low_before_and_after_its_time() -> None:
    factor = partial(impact_factor, max_updates=1000, high=0.1, low=0.01, start=200, end=600, lifted=False)
    assert factor(1) == factor(200) == factor(600) == factor(999) == pytest.approx(0.01)
    assert factor(400) == pytest.approx(0.09)
    # A training of one update, and one that is over before it starts.
    assert impact_factor(1, 1, high=0.1, low=0.01, start=5, end=None, lifted=False) == pytest.approx(0.01)
