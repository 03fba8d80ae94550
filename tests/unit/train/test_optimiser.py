"""Adam with decoupled weight decay, by hand; its state comes back whole."""

from __future__ import annotations

import math
import subprocess
import sys

import pytest
import torch
from torch import nn

from mdnmt.config.training import Training
from mdnmt.errors import CheckpointError
from mdnmt.train.optimiser import Optimiser


def test_three_updates_equal_the_formula() -> None:
    recipe = Training(weight_decay=0.1, adam_betas=(0.9, 0.98), adam_eps=1e-3)
    model = nn.Linear(1, 1, bias=False).double()
    start = 0.7
    with torch.no_grad():
        model.weight.fill_(start)
    optimiser = Optimiser(model, recipe)
    weight, m, v = start, 0.0, 0.0
    for t, (gradient, rate) in enumerate([(2.0, 0.01), (-1.0, 0.02), (0.5, 0.03)], start=1):
        model.weight.grad = torch.full_like(model.weight, gradient)
        optimiser.step(rate)
        m = 0.9 * m + 0.1 * gradient
        v = 0.98 * v + 0.02 * gradient**2
        step = (m / (1 - 0.9**t)) / (math.sqrt(v / (1 - 0.98**t)) + 1e-3)
        # Decoupled: the decay is no part of the gradient, so the moments do not see it.
        weight = weight - rate * 0.1 * weight - rate * step
        assert model.weight.item() == pytest.approx(weight, rel=1e-12)
        assert model.weight.grad is None


def test_updates_are_those_of_torchs_class_to_the_last_bit() -> None:
    torch.manual_seed(0)
    recipe = Training(weight_decay=0.1)
    mine, theirs = nn.Linear(37, 19), nn.Linear(37, 19)
    theirs.load_state_dict(mine.state_dict())
    optimiser = Optimiser(mine, recipe)
    adam = torch.optim.AdamW(
        theirs.parameters(), betas=recipe.adam_betas, eps=recipe.adam_eps, weight_decay=recipe.weight_decay, fused=True
    )
    for number in range(1, 6):
        for one, other in zip(mine.parameters(), theirs.parameters(), strict=True):
            one.grad = torch.randn(one.shape)
            other.grad = one.grad.clone()
        adam.param_groups[0]["lr"] = 0.01 * number
        adam.step()
        optimiser.step(0.01 * number)
        assert all(torch.equal(*both) for both in zip(mine.parameters(), theirs.parameters(), strict=True))


@pytest.mark.slow
def test_training_does_not_import_torchs_compiler() -> None:
    update = (
        "import sys; from torch import nn; from mdnmt.config.training import Training; "
        "from mdnmt.train.optimiser import Optimiser; model = nn.Linear(2, 2); adam = Optimiser(model, Training()); "
        "model(model.weight).sum().backward(); adam.step(0.1); print('torch._dynamo' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", update], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_weights_without_a_gradient_are_left_alone() -> None:
    model = nn.Linear(2, 2)
    before = model.weight.detach().clone()
    optimiser = Optimiser(model, Training(weight_decay=0.5))
    model.bias.grad = torch.ones(2)
    optimiser.step(0.1)
    assert torch.equal(model.weight, before)
    assert {key.rpartition("/")[0] for key in optimiser.state()} == {"bias"}


def test_a_loaded_state_goes_on_bit_for_bit() -> None:
    torch.manual_seed(0)
    gradients = [[torch.randn(3, 2), torch.randn(3)] for _ in range(6)]

    def update(model: nn.Linear, optimiser: Optimiser, number: int) -> None:
        model.weight.grad, model.bias.grad = (gradient.clone() for gradient in gradients[number])
        optimiser.step(0.01 * (number + 1))

    torch.manual_seed(1)
    model = nn.Linear(2, 3)
    optimiser = Optimiser(model, Training())
    for number in range(3):
        update(model, optimiser, number)
    state = optimiser.state()
    other = nn.Linear(2, 3)
    other.load_state_dict(model.state_dict())
    resumed = Optimiser(other, Training())
    resumed.load(state)
    kept = {key: value.clone() for key, value in state.items()}
    for number in range(3, 6):
        update(model, optimiser, number)
        update(other, resumed, number)
    assert torch.equal(model.weight, other.weight) and torch.equal(model.bias, other.bias)
    mine, theirs = optimiser.state(), resumed.state()
    assert mine.keys() == theirs.keys() == {f"{name}/{part}" for name in ("weight", "bias") for part in PARTS}
    assert all(torch.equal(mine[key], theirs[key]) for key in mine)
    # The saved state is a copy: training on does not change it.
    assert all(torch.equal(state[key], kept[key]) for key in state)


PARTS = ("step", "exp_avg", "exp_avg_sq")


def test_a_state_of_another_model_is_refused() -> None:
    with pytest.raises(CheckpointError, match=r"'deep\.weight'"):
        Optimiser(nn.Linear(1, 1), Training()).load({"deep.weight/step": torch.tensor(1.0)})
