"""A training step through torch.compile's real backend: the loss and the gradients are those of the plain step."""

from __future__ import annotations

import shutil
import warnings
from typing import Any

import pytest
import torch
from torch import Tensor

from mdnmt.models.dropout import dropout

pytestmark = pytest.mark.slow

# The real backend writes C++; without a compiler, the one that stops before that still traces both passes.
BACKEND = "inductor" if shutil.which("g++") or shutil.which("clang++") else "aot_eager"
if BACKEND != "inductor":
    warnings.warn("no C++ compiler: torch.compile is tested without its last stage", stacklevel=1)


@pytest.mark.parametrize("builder", [pytest.param("transformer", marks=pytest.mark.long), "waldm"])
def test_a_compiled_training_step_computes_the_same(random_method: Any, make_batch: Any, builder: str) -> None:
    sizes = {"encoder_layers": 1, "decoder_layers": 1, "dropout": 0.0}
    method = random_method(builder, dtype=torch.float32, **sizes)
    method.model.train()
    batch = make_batch([[5, 6, 2], [7, 2]], [[9, 10, 11, 2], [8, 2]], [0, 1])

    def step(batch: Any) -> Tensor:
        output = method.model(batch)
        return torch.stack([loss(output, batch) for loss in method.losses]).sum()

    def gradients(function: Any) -> tuple[float, list[Tensor]]:
        method.model.zero_grad()
        loss = function(batch)
        loss.backward()
        return loss.item(), [parameter.grad for parameter in method.model.parameters() if parameter.grad is not None]

    torch.compiler.reset()
    loss, plain = gradients(step)
    compiled_loss, compiled = gradients(torch.compile(step, fullgraph=True, backend=BACKEND))
    assert compiled_loss == pytest.approx(loss, rel=1e-5)
    assert len(plain) == len(compiled) == len(list(method.model.parameters()))
    for one, other in zip(plain, compiled, strict=True):
        assert torch.allclose(one, other, rtol=1e-4, atol=1e-5)


def test_a_compiled_dropout_drops_as_many_numbers_and_their_gradients() -> None:
    torch.compiler.reset()
    torch.manual_seed(1)
    compiled = torch.compile(lambda x: dropout(x, 0.25, True), fullgraph=True, dynamic=True, backend=BACKEND)
    x = torch.ones(3, 249, 130, requires_grad=True)
    y = compiled(x)
    y.sum().backward()
    assert (y == 0).double().mean().item() == pytest.approx(0.25, abs=0.01)
    assert y[y != 0].unique().tolist() == pytest.approx([1 / 0.75], rel=1e-6)
    assert x.grad is not None and torch.equal(x.grad, y)
