"""The task of these tests, made with numpy alone: a machine with a GPU may have only the packages of training."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import generated_task


@pytest.fixture(scope="session")
def toy_task(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a task of generated text in two domains."""
    pairs = {"train": 120, "valid": 12, "test": 10}
    folder = tmp_path_factory.mktemp("toy-task")
    return generated_task.write_task(folder, pairs=pairs, vocab_size=40, mean_length=6, domains=("economy", "law"))
