"""Gradient links, attention pooling, classifiers of sentences and their loss, each by itself."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import Any

import pytest
import torch
from reference import multitask as slow
from torch import Tensor

from mdnmt.models.batch import Batch
from mdnmt.models.context import DomainContext
from mdnmt.models.gradient_reversal import link_gradient, reverse_gradient
from mdnmt.models.sentence_classifier import AttentionPooling, SentenceClassifier
from mdnmt.models.sentence_loss import SentenceDomainLoss
from mdnmt.models.transformer import Output
from mdnmt.models.word_contexts import DomainBranch

MASK = torch.tensor([[True, True, True, True], [True, True, False, False]])


def random_parameters(module: torch.nn.Module) -> dict[str, Tensor]:
    for parameter in module.parameters():
        torch.nn.init.normal_(parameter, std=0.7)
    return {f"m.{name}": value.detach() for name, value in module.state_dict().items()}


@pytest.mark.parametrize("width", [6, 5])
@pytest.mark.parametrize("compiled", [False, True])
def test_links_leave_the_value_and_change_the_gradient(compiled: bool, width: int) -> None:
    torch.manual_seed(0)
    at_end = torch.randn(2, 3, width, dtype=torch.float64)
    half = width // 2
    signs = {"pass": [1.0] * width, "reverse": [-1.0] * width, "half": [-1.0] * half + [1.0] * (width - half)}
    for gradient, sign in signs.items():
        linked = torch.compile(link_gradient, fullgraph=True, backend="aot_eager") if compiled else link_gradient
        x_BTD = torch.randn(2, 3, width, dtype=torch.float64, requires_grad=True)
        y_BTD = linked(x_BTD, gradient)  # type: ignore[arg-type]
        assert torch.equal(y_BTD, x_BTD)
        (y_BTD * at_end).sum().backward()
        assert torch.equal(x_BTD.grad, at_end * torch.tensor(sign)), gradient  # type: ignore[arg-type]
    assert not link_gradient(x_BTD, "detach").requires_grad
    x_BTD.grad = None
    (reverse_gradient(x_BTD, strength=0.1) * at_end).sum().backward()
    assert torch.allclose(x_BTD.grad, -0.1 * at_end)  # type: ignore[arg-type]
    torch.compiler.reset()


def test_pooling_equals_the_reference_and_never_looks_at_padding() -> None:
    torch.manual_seed(1)
    pooling = AttentionPooling(6).double()
    weights = random_parameters(pooling)
    x_BTD = torch.randn(2, 4, 6, dtype=torch.float64, requires_grad=True)
    c_BD, a_BT = pooling(x_BTD, MASK)
    for row, length in enumerate([4, 2]):
        expected, attention = slow.pool(weights, "m", list(x_BTD[row, :length].detach()))
        assert torch.allclose(c_BD[row], expected, rtol=1e-12)
        assert torch.allclose(a_BT[row, :length], torch.stack(attention), rtol=1e-12)
    assert not a_BT[1, 2:].any()
    assert torch.allclose(a_BT.sum(1), torch.ones(2, dtype=torch.float64))
    c_BD.square().sum().backward()
    assert x_BTD.grad is not None and x_BTD.grad[MASK].any() and not x_BTD.grad[~MASK].any()
    assert torch.isfinite(x_BTD.grad).all()


@pytest.mark.parametrize("width", [16, 12, 5])
def test_the_classifier_halves_its_width_three_times(width: int) -> None:
    torch.manual_seed(2)
    classifier = SentenceClassifier(width, 3, side="encoder", gradient="half").double()
    weights = random_parameters(classifier)
    shapes = [tuple(value.shape) for name, value in weights.items() if name.endswith("weight") and value.dim() == 2]
    widths = [width, width // 2, width // 4, max(1, width // 8), 3]
    assert shapes[2:] == [(narrow, wide) for wide, narrow in pairwise(widths)]
    x_BTD = torch.randn(2, 4, width, dtype=torch.float64)
    context = DomainContext()
    classifier(x_BTD, MASK, context)
    [logits_BK] = context.recorded("sentence", "encoder")
    for row, length in enumerate([4, 2]):
        expected = slow.sentence_logits(weights, "m", list(x_BTD[row, :length]))
        assert torch.allclose(logits_BK[row], expected, rtol=1e-10)


@pytest.mark.parametrize(
    "module",
    [
        SentenceClassifier(16, 3, side="encoder", gradient="reverse"),
        DomainBranch(16, 3, feature_dim=7, reversal=0.1),
    ],
)
def test_under_autocast_domain_logits_are_whole_floats(module: Any) -> None:
    context = DomainContext()
    x_BTD = torch.randn(2, 4, 16).bfloat16()
    with torch.autocast("cpu", torch.bfloat16):
        module(x_BTD, MASK, context)
    [logits_BK] = context.recorded("sentence", "encoder")
    assert logits_BK.dtype == torch.float32


@pytest.mark.parametrize("sides", [["encoder"], ["decoder"], ["encoder", "decoder"]])
@pytest.mark.parametrize("aux_norm", ["text", "code"])
def test_the_loss_is_a_sum_or_a_mean_over_sentences_and_classifiers(aux_norm: Any, sides: Any) -> None:
    generator = random.Random(3)
    torch.manual_seed(3)
    context = DomainContext()
    recorded = {"encoder": 2, "decoder": 1}
    logits: list[list[Tensor]] = [[], [], []]
    for side, classifiers in recorded.items():
        for _ in range(classifiers):
            logits_BK = torch.randn(3, 4, dtype=torch.float64)
            context.record("sentence", side, logits_BK)  # type: ignore[arg-type]
            for row in range(3):
                if side in sides:
                    logits[row].append(logits_BK[row])
    labels = [generator.randrange(4) for _ in range(3)]
    empty = torch.zeros(0)
    batch = Batch(empty, empty, empty, empty, empty, empty, torch.tensor(labels))
    output = Output(empty, empty, context)
    expected = slow.sentence_loss(logits, labels, aux_norm)
    assert SentenceDomainLoss(sides, aux_norm=aux_norm)(output, batch).item() == pytest.approx(expected, rel=1e-12)
