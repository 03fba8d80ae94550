"""Averaging of weights."""

from __future__ import annotations

import torch

from mdnmt.checkpoints.average import average_weights


def test_the_mean_is_taken_in_float64_and_counters_from_the_last() -> None:
    # In float32, 1e8 + 1 is 1e8: only a wider accumulator gives the mean below.
    values = [1e8, 1.0, -1e8, 7.0]
    checkpoints = [{"w": torch.tensor([value]), "steps": torch.tensor(step)} for step, value in enumerate(values)]
    mean = average_weights(checkpoints)
    assert mean["w"].item() == 2.0
    assert mean["w"].dtype == torch.float32
    assert mean["steps"].item() == 3


def test_one_checkpoint_is_its_own_mean_but_not_the_same_memory() -> None:
    weights = {"w": torch.randn(3), "half": torch.randn(3).to(torch.bfloat16), "n": torch.tensor(3)}
    mean = average_weights([weights])
    assert all(torch.equal(mean[name], weights[name]) and mean[name].dtype == weights[name].dtype for name in weights)
    mean["n"] += 1
    assert weights["n"].item() == 3
