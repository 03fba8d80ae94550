"""Experts and their gates: which experts count, what they add up to, and that no loop is needed for it."""

from __future__ import annotations

from functools import partial

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from mdnmt.models.context import DomainContext
from mdnmt.models.experts import ConcatenatedFusion, DomainExperts, ExpertProjection, Experts
from mdnmt.models.gate import DomainEmbedding, Gate, highest

NUM_EXPERTS, MODEL_DIM, HIDDEN_DIM = 4, 6, 10


@pytest.fixture(autouse=True)
def seeded() -> None:
    torch.manual_seed(4)


def make_experts(dropout: float = 0.0) -> Experts:
    experts = Experts(MODEL_DIM, HIDDEN_DIM, NUM_EXPERTS, dropout=dropout)
    for parameter in experts.parameters():
        torch.nn.init.normal_(parameter)
    return experts


def one_by_one(experts: Experts, x_BTD: Tensor, gate_BTN: Tensor) -> Tensor:
    total = torch.zeros_like(x_BTD)
    for i in range(NUM_EXPERTS):
        hidden = F.relu(x_BTD @ experts.first_weight[i].t() + experts.first_bias[i])
        total = total + gate_BTN[..., i : i + 1] * (hidden @ experts.second_weight[:, i].t() + experts.second_bias[i])
    return total


@pytest.mark.parametrize("in_pieces", [True, False], ids=["on a CPU", "elsewhere"])
@pytest.mark.parametrize("length", [1, 3])
def test_the_experts_are_weighed_and_summed(monkeypatch: pytest.MonkeyPatch, length: int, in_pieces: bool) -> None:
    if not in_pieces:  # what a GPU computes
        monkeypatch.setattr(torch.compiler, "is_compiling", lambda: True)
        monkeypatch.delattr("mdnmt.models.experts.expert_sum")
    experts = make_experts()
    gate_BTN = torch.rand(2, length, NUM_EXPERTS).softmax(-1).requires_grad_()
    x_BTD = torch.randn(2, 3, MODEL_DIM, requires_grad=True)
    y_BTD, expected_BTD = experts(x_BTD, gate_BTN), one_by_one(experts, x_BTD, gate_BTN)
    assert torch.allclose(y_BTD, expected_BTD, atol=1e-5)
    given = [x_BTD, gate_BTN, *experts.parameters()]
    found, expected = (torch.autograd.grad(y.sin().sum(), given) for y in (y_BTD, expected_BTD))
    assert all(torch.allclose(one, other, atol=1e-4) for one, other in zip(found, expected, strict=True))


def test_the_products_are_two_however_many_experts_there_are() -> None:
    def products(num_experts: int) -> int:
        experts = Experts(MODEL_DIM, HIDDEN_DIM, num_experts)
        with torch.profiler.profile() as profile, torch.inference_mode():
            experts(torch.randn(2, 3, MODEL_DIM), torch.rand(2, 3, num_experts))
        return sum(event.count for event in profile.key_averages() if event.key in ("aten::addmm", "aten::mm"))

    assert products(2) == products(7) == 3  # the second biases are the third


def test_the_weights_are_drawn_as_those_of_one_expert() -> None:
    for num_experts in (1, 9):
        experts = Experts(32, 96, num_experts)
        bound = (6 / (32 + 96)) ** 0.5
        for weight in (experts.first_weight, experts.second_weight):
            assert weight.abs().max().item() == pytest.approx(bound, rel=0.02)
        assert not experts.first_bias.any() and not experts.second_bias.any()


def test_dropout_falls_on_the_hidden_states_in_training_alone() -> None:
    experts = make_experts(dropout=0.5)
    x_BTD, gate_BTN = torch.randn(2, 3, MODEL_DIM), torch.rand(2, 3, NUM_EXPERTS)
    assert not torch.equal(experts(x_BTD, gate_BTN), experts(x_BTD, gate_BTN))
    experts.eval()
    assert torch.allclose(experts(x_BTD, gate_BTN), one_by_one(experts, x_BTD, gate_BTN), atol=1e-5)


def test_exactly_k_experts_are_highest_even_among_equals() -> None:
    scores = torch.tensor([[[0.0, 3.0, 1.0, 2.0], [1.0, 1.0, 1.0, 1.0], [5.0, 5.0, 9.0, 5.0]]])
    for k in range(1, 5):
        assert (highest(scores, k).sum(-1) == k).all()
    assert highest(scores, 2)[0, 0].tolist() == [False, True, False, True]
    assert highest(scores, 1)[0, 2].tolist() == [False, False, True, False]


@pytest.mark.parametrize("hidden_dim", [None, HIDDEN_DIM])
@pytest.mark.parametrize("top_k", [None, 1, 3, NUM_EXPERTS])
def test_the_gate_is_a_softmax_over_the_chosen_scores(top_k: int | None, hidden_dim: int | None) -> None:
    gate = Gate(MODEL_DIM, NUM_EXPERTS, hidden_dim=hidden_dim, top_k=top_k)
    x_BTD = torch.randn(2, 5, MODEL_DIM)
    states = x_BTD if gate.hidden is None else F.relu(gate.hidden(x_BTD))
    for scores_N, weights_N in zip(gate.scores(states).flatten(0, 1), gate(x_BTD).flatten(0, 1), strict=True):
        kept = scores_N.topk(top_k or NUM_EXPERTS).indices
        assert torch.allclose(weights_N[kept], scores_N[kept].softmax(-1))
        assert weights_N.count_nonzero() == len(kept)


def test_scores_that_are_not_chosen_get_no_gradient() -> None:
    gate = Gate(MODEL_DIM, NUM_EXPERTS, top_k=2)
    weights_N = gate(torch.randn(1, 1, MODEL_DIM))[0, 0]
    (weights_N * torch.arange(NUM_EXPERTS)).sum().backward()
    assert gate.scores.bias.grad is not None
    assert torch.equal(gate.scores.bias.grad != 0, weights_N > 0)
    assert torch.equal(gate.scores.weight.grad.any(-1), weights_N > 0)


@pytest.mark.parametrize("targets", ["v", "qkv"])
def test_which_of_queries_keys_and_values_come_from_experts(targets: str) -> None:
    gate = Gate(MODEL_DIM, NUM_EXPERTS, top_k=2)
    projection = ExpertProjection(MODEL_DIM, experts=make_experts, gate=gate, targets=targets)
    x_BTD = torch.randn(2, 3, MODEL_DIM)
    parts = projection(x_BTD).chunk(3, dim=-1)
    linear = projection.query_key(x_BTD).chunk(2, dim=-1) if projection.query_key is not None else ()
    mixed = [one_by_one(experts, x_BTD, gate(x_BTD)) for experts in projection.experts]
    assert (len(linear), len(mixed)) == ((2, 1) if targets == "v" else (0, 3))
    for found, expected in zip(parts, [*linear, *mixed], strict=True):
        assert torch.allclose(found, expected, atol=1e-5)


def test_what_gate_and_experts_read() -> None:
    domain, gate = DomainEmbedding(3, MODEL_DIM), Gate(MODEL_DIM, NUM_EXPERTS)
    block = partial(DomainExperts, domain=domain, experts=make_experts(), gate=gate)
    x_BTD, labels = torch.randn(2, 4, MODEL_DIM), torch.tensor([2, 0])
    e_B1D = domain.weight[labels][:, None]
    concatenated = ConcatenatedFusion(MODEL_DIM)
    linear = concatenated.linear
    fused_BTD = torch.cat([x_BTD, e_B1D.expand(-1, 4, -1)], dim=-1) @ linear.weight.t() + linear.bias
    for fuse, gate_input, experts_input in (
        (None, e_B1D, x_BTD),  # eq. 9
        (torch.add, x_BTD + e_B1D, x_BTD + e_B1D),  # eq. 10
        (concatenated, fused_BTD, fused_BTD),
    ):
        context = DomainContext(domain_B=labels)
        made = block(fuse=fuse)
        expected = one_by_one(made.experts, experts_input, gate(gate_input))
        assert torch.allclose(made(x_BTD, context), expected, atol=1e-5)
        [recorded] = context.recorded("gate", "encoder")
        assert recorded.shape == (2, 1 if fuse is None else 4, NUM_EXPERTS)
        assert torch.allclose(recorded, gate(gate_input), atol=1e-6)


@pytest.mark.parametrize(("std", "expected"), [(None, 1024**-0.5), (1.0, 1.0), (0.25, 0.25)])
def test_the_first_values_of_domain_vectors_have_the_given_scale(std: float | None, expected: float) -> None:
    torch.manual_seed(1)
    weight_KD = DomainEmbedding(8, 1024, std=std).weight.detach()
    assert weight_KD.std().item() == pytest.approx(expected, rel=0.05)
    assert weight_KD.mean().abs().item() < 0.05 * expected
