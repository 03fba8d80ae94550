"""What a run needs is estimated, and what plainly cannot fit is refused before anything is made."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from mdnmt.checkpoints.store import CheckpointStore
from mdnmt.config.training import Training
from mdnmt.machine import Memory, TooLarge
from mdnmt.tasks.task_data import TaskData
from mdnmt.train import footprint as module
from mdnmt.train import run as training
from mdnmt.train.footprint import Footprint, device_memory, footprint, least_checkpoint_bytes
from mdnmt.train.run import build_method, count_parameters, train_run

SIZES = {"model_dim": 512, "ffn_dim": 2048, "encoder_layers": 6, "decoder_layers": 6}


def test_the_estimate_grows_with_model_batch_and_vocabulary() -> None:
    base = footprint(60_000_000, SIZES, 30_000, Training(max_tokens=1000), 2)
    assert base.states == 16 * 60_000_000
    assert footprint(60_000_000, SIZES, 30_000, Training(max_tokens=3000), 2).activations == 3 * base.activations
    assert footprint(60_000_000, SIZES, 60_000, Training(max_tokens=1000), 2).activations > base.activations
    deeper = footprint(60_000_000, {**SIZES, "decoder_layers": 12}, 30_000, Training(max_tokens=1000), 2)
    assert deeper.activations > base.activations and deeper.states == base.states
    # The longest pairs share a batch.
    in_sentences = Training(batch_sentences=12, max_length=250)
    assert footprint(60_000_000, SIZES, 30_000, in_sentences, 2).activations == 3 * base.activations


def test_the_estimate_counts_the_widths_that_a_size_means() -> None:
    def activations(num_domains: int, **sizes: Any) -> int:
        given = {**SIZES, "num_heads": 8, **sizes}
        return footprint(60_000_000, given, 30_000, Training(max_tokens=1000), num_domains).activations

    big = activations(2, model_dim=1024, ffn_dim=4096, num_heads=16)
    assert activations(2, size="big") == activations(4, size="enlarged") == big > activations(2, size="enlarged")
    assert activations(2, size="enlarged") > activations(2)


def test_states_alone_decide_and_both_numbers_are_named() -> None:
    needed = Footprint(states=10**10, activations=5 * 10**9, saving=10**9)
    needed.require(Memory(10**10, "this machine"), "run x")
    with pytest.raises(TooLarge, match=r"run x: .* about 15\.3 GB of memory \(10\.0 GB .*this machine has 8\.0 GB"):
        needed.require(Memory(8 * 10**9, "this machine"), "run x")


@pytest.mark.parametrize(
    ("options", "averaged"),
    [
        ({"max_updates": 100, "validate_every": 10, "average_checkpoints": 5}, 3),
        ({"max_updates": 30, "validate_every": 10, "average_checkpoints": 5}, 1),
        ({"max_updates": 100, "validate_every": 10, "average_checkpoints": 0}, 0),
        ({"max_updates": 100, "validate_every": 10, "average_checkpoints": 5, "patience": 3}, 0),
        ({"max_epochs": 3, "validate_every": 10, "average_checkpoints": 5}, 0),
        ({"max_updates": 100, "validate_every_epochs": 1, "average_checkpoints": 5}, 0),
    ],
)
def test_only_checkpoints_that_certainly_come_are_counted(options: dict[str, Any], averaged: int) -> None:
    assert least_checkpoint_bytes(1000, Training(**options)) == 4 * 1000 * (6 + averaged)


def test_checkpoints_of_a_run_take_at_least_that(
    make_spec: Any, toy_task: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written, original = [], CheckpointStore.save

    def save(self: CheckpointStore, *given: Any) -> Path:
        folder = original(self, *given)
        written.append(sum(path.stat().st_size for path in self.directory.rglob("*.safetensors")))
        return folder

    monkeypatch.setattr(CheckpointStore, "save", save)
    spec = make_spec("transformer")
    train_run(spec, toy_task, tmp_path / "run", device="cpu")
    parameters = count_parameters(spec, data_of(toy_task))
    model = build_method(spec, data_of(toy_task), torch.device("cpu")).model
    assert parameters == sum(parameter.numel() for parameter in model.parameters())
    assert 0.4 * max(written) < least_checkpoint_bytes(parameters, spec.training) <= max(written)


@pytest.mark.parametrize("lacking", ["memory", "disk"])
def test_training_is_refused_before_it_begins(
    make_spec: Any, toy_task: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lacking: str
) -> None:
    if lacking == "memory":
        monkeypatch.setattr(module, "host_memory", lambda: Memory(10_000, "this machine"))
    else:
        monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=10_000))
    monkeypatch.setattr(training.Setup, "build", lambda *_: pytest.fail("built"))
    with pytest.raises(TooLarge, match=r"this machine has 0\.0 MB|0\.0 MB are free there; nothing was started"):
        train_run(make_spec("transformer"), toy_task, tmp_path / "run", device="cpu")
    assert not (tmp_path / "run" / "lease").exists()


@pytest.mark.slow
def test_what_a_run_has_written_counts_as_room(
    make_spec: Any, toy_task: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train_run(make_spec("transformer"), toy_task, tmp_path / "run", device="cpu")
    (tmp_path / "run" / "run.json").unlink()
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=10))
    train_run(make_spec("transformer"), toy_task, tmp_path / "run", device="cpu")
    assert (tmp_path / "run" / "run.json").exists()


def test_of_a_gpu_its_own_memory_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: SimpleNamespace(total_memory=7, name="toy"))
    assert device_memory(torch.device("cuda", 0)) == Memory(7, "the GPU (toy)")


def data_of(folder: Path) -> TaskData:
    return TaskData.load(folder)
