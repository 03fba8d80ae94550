"""The check on fake CUDA tensors finds a fault planted in a method; the methods themselves are its own run's matter."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

FILE = Path(__file__).parents[1] / "gpu" / "fake_cuda.py"


@pytest.fixture(scope="module")
def check() -> Any:
    spec = importlib.util.spec_from_file_location("fake_cuda", FILE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("work", "said"),
    [
        (lambda x: x + torch.ones(3), "two devices"),
        (lambda x: x.max().item(), "synchronisation (_local_scalar_dense)"),
        (lambda x: x * torch.tensor(0.5).to(x.device), "scalar copy (_to_copy)"),
        (lambda x: x.double(), "float64 (_to_copy)"),
        (lambda x: x * 2, None),
    ],
)
def test_each_kind_of_fault_is_named(
    check: Any, monkeypatch: pytest.MonkeyPatch, work: Callable[[Any], Any], said: str | None
) -> None:
    monkeypatch.setattr(check, "_one_update", lambda method, dtype: work(torch.zeros(2, 3, device=check.DEVICE)))
    monkeypatch.setattr(check, "_one_word", lambda method, dtype: None)
    found = check.faults(lambda mode: None, None)
    assert any(said in line for line in found) if said else found == []


def test_an_unknown_method_is_refused_in_one_line(check: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert check.main(["nonsense"]) == 2
    assert capsys.readouterr().err.startswith("fake_cuda: found method 'nonsense', expected one of: ")
