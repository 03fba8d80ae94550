"""All random generators go on exactly where they were."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
import torch

from mdnmt.checkpoints.random_state import capture, restore
from mdnmt.checkpoints.weights import load_model, save_model


def draw() -> list[float]:
    return [
        *torch.randn(3).tolist(),
        *torch.randperm(5).tolist(),
        random.random(),
        random.gauss(0, 1),
        float(np.random.rand()),
        float(np.random.standard_normal()),
    ]


@pytest.mark.parametrize("draws_before", [0, 1, 2, 700])
def test_the_numbers_after_a_restore_are_those_after_the_capture(tmp_path: Path, draws_before: int) -> None:
    torch.manual_seed(1)
    random.seed(2)
    np.random.seed(3)
    # An odd number of draws leaves a second Gaussian waiting in Python's and in numpy's generator.
    for _ in range(draws_before):
        draw()
    save_model(tmp_path / "generators.safetensors", capture())
    expected = [draw() for _ in range(5)]
    torch.manual_seed(9)
    random.seed(9)
    np.random.seed(9)
    restore(load_model(tmp_path / "generators.safetensors"))
    assert [draw() for _ in range(5)] == expected


def test_states_are_tensors_that_weights_only_loading_takes() -> None:
    assert all(isinstance(state, torch.Tensor) for state in capture().values())


def test_a_generator_of_a_device_that_is_not_here_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    restore({**capture(), "torch.cuda.99": torch.zeros(16, dtype=torch.uint8)})
    assert "CUDA device 99" in capsys.readouterr().err
