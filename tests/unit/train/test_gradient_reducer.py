"""Gradients are sent in buckets while others are still computed, and only once nothing is added to them any more."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from mdnmt.config.training import Training
from mdnmt.train import gradient_reducer
from mdnmt.train.data_parallel import Workers
from mdnmt.train.forward_backward import forward_backward
from mdnmt.train.gradient_reducer import GradientReducer

LAYERS, UPDATES = 4, 2
CPU = torch.device("cpu")


@dataclass(frozen=True)
class Twins(Workers):
    """Two workers of which the other one does exactly what this one does; it notes what happens."""

    count: int = 2
    events: list[str] = field(default_factory=list)

    def begin_sum(self, tensor: Tensor) -> Callable[[], None]:
        def wait() -> None:
            self.events.append("wait")
            tensor.mul_(2)

        self.events.append("send")
        return wait

    def maximum(self, values: Sequence[int]) -> list[int]:
        return list(values)

    def shared_json(self, value: Any) -> Any:
        return value


def chain(events: list[str]) -> nn.Sequential:
    """Return layers of which each notes when the backward pass comes to it."""
    torch.manual_seed(1)
    layers = nn.Sequential(*(nn.Linear(3, 3) for _ in range(LAYERS)))
    for number, layer in enumerate(layers):
        note_backward(layer, f"layer {number}", events)
    return layers


def note_backward(layer: nn.Module, name: str, events: list[str]) -> None:
    def hook(_: nn.Module, __: Any, output: Tensor) -> None:
        output.register_hook(lambda gradient: events.append(name))

    layer.register_forward_hook(hook)


def gradients(model: nn.Module) -> list[Tensor]:
    return [parameter.grad.clone() for parameter in model.parameters() if parameter.grad is not None]


def test_buckets_are_sent_before_the_backward_pass_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gradient_reducer, "BUCKET_NUMBERS", 12)  # a layer
    workers = Twins()
    model = chain(workers.events)
    reducer = GradientReducer(workers, model.parameters())
    for _ in range(UPDATES):
        model.zero_grad()
        workers.events.clear()
        for batch in (torch.ones(2, 3), -torch.ones(1, 3)):
            if batch.size(0) == 1:
                reducer.begin_last_batch()
            model(batch).square().sum().backward()
        reducer.finish()
    backward = [f"layer {number}" for number in reversed(range(LAYERS))]
    overlapped = [event for layer in backward for event in (layer, "send")]
    # The first batch sends nothing. In the second, each layer is sent before the backward pass comes to the one below.
    assert workers.events == [*backward, *overlapped, *["wait"] * LAYERS]

    alone = chain([])
    for batch in (torch.ones(2, 3), -torch.ones(1, 3)):
        alone(batch).square().sum().backward()
    for found, expected in zip(gradients(model), gradients(alone), strict=True):
        torch.testing.assert_close(found, 2 * expected)


def test_the_first_update_settles_the_order(monkeypatch: pytest.MonkeyPatch) -> None:
    # In reverse order of registration, nothing could be sent before the end.
    workers = Twins()
    model = nn.ModuleDict({"second": nn.Linear(3, 3), "first": nn.Linear(3, 3)})
    note_backward(model["first"], "first", workers.events)
    reducer = GradientReducer(workers, model.parameters())
    monkeypatch.setattr(gradient_reducer, "BUCKET_NUMBERS", 12)
    for _ in range(UPDATES):
        workers.events.clear()
        reducer.begin_last_batch()
        model["second"](model["first"](torch.ones(2, 3))).sum().backward()
        reducer.finish()
    assert workers.events[:2] == ["send", "first"]


def test_gradients_sent_before_the_last_batch_are_an_error(make_batch: Any, random_method: Any) -> None:
    class TooEarly(GradientReducer):
        def __init__(self, workers: Workers, parameters: Any) -> None:
            super().__init__(workers, parameters)
            self.begin_last_batch()

    batch = make_batch([[5, 6, 2]], [[8, 9, 2]], [0])
    for kind in (GradientReducer, TooEarly):
        method = random_method("transformer", dropout=0.0)
        reducer = kind(Twins(), method.model.parameters())
        if kind is TooEarly:
            with pytest.raises(RuntimeError, match="a gradient changed after it was sent"):
                forward_backward(method, [batch, batch], Training(), CPU, None, reducer=reducer)
        else:
            forward_backward(method, [batch, batch], Training(), CPU, None, reducer=reducer)


def test_who_has_no_gradient_sends_zeros_and_keeps_none_if_nobody_has_one() -> None:
    workers = Twins()
    used, unused = nn.Parameter(torch.ones(2)), nn.Parameter(torch.ones(3))
    frozen = nn.Parameter(torch.ones(1), requires_grad=False)
    reducer = GradientReducer(workers, [frozen, unused, used])
    for _ in range(UPDATES):
        used.grad = None
        reducer.begin_last_batch()
        used.sum().backward()
        reducer.finish()
        assert unused.grad is None and frozen.grad is None
        assert used.grad is not None and used.grad.tolist() == [2.0, 2.0]
    # A worker without a batch.
    used.grad = None
    reducer.finish()
    assert used.grad is None


def test_a_single_worker_has_no_hooks() -> None:
    parameter = nn.Parameter(torch.ones(2))
    reducer = GradientReducer(Workers(), [parameter])
    assert parameter._post_accumulate_grad_hooks is None
    parameter.sum().backward()
    reducer.begin_last_batch()
    reducer.finish()
    assert parameter.grad is not None and parameter.grad.tolist() == [1.0, 1.0]
