"""A loss or gradient that is no number: the batch is written down, and the run ends or goes on without it."""

from __future__ import annotations

import json
import math
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from chosen_cases import chosen_cases
from torch import Tensor

import mdnmt.train.trainer as trainer_module
from mdnmt.cli import main
from mdnmt.errors import Interrupted
from mdnmt.models.losses import LabelSmoothedCrossEntropy
from mdnmt.paths import RunPaths
from mdnmt.tasks.task_data import TaskData
from mdnmt.train.batches import epoch_batches, usable
from mdnmt.train.metrics_log import read_metrics
from mdnmt.train.run import train_run
from mdnmt.train.trainer import MAX_ROLLBACKS, RuntimeOptions, TrainingError

UPDATES = 12
FORM = {"max_updates": UPDATES, "max_tokens": 100, "validate_every": 4, "log_every": 5}


class BadGradient(torch.autograd.Function):
    """The number itself, with a gradient that is none."""

    @staticmethod
    def forward(ctx: Any, value: Tensor) -> Tensor:
        return value.view_as(value)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        return gradients[0] * math.nan


def bad_gradient(value: Tensor) -> Tensor:
    spoilt: Tensor = BadGradient.apply(value)  # type: ignore[no-untyped-call]
    return spoilt


SPOILERS: dict[str, Callable[[Tensor], Tensor]] = {"loss": lambda value: value * math.inf, "gradient": bad_gradient}


@contextmanager
def spoilt(task: Path, rows: list[int], spoil: Callable[[Tensor], Tensor]) -> Iterator[None]:
    """Spoil the loss of every batch that has one of the training sentences in it."""
    split = TaskData.load(task).split("train")
    wanted = [torch.from_numpy(np.array(split.target[row], dtype=np.int64)) for row in rows]
    original = LabelSmoothedCrossEntropy.__call__

    def call(self: Any, output: Any, batch: Any) -> Tensor:
        value = original(self, output, batch)
        ends = batch.target_mask_BT.sum(1).tolist()
        sentences = batch.label_N.split(ends)
        is_there = any(torch.equal(sentence, one) for sentence in sentences for one in wanted)
        return spoil(value) if is_there and torch.is_grad_enabled() else value

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LabelSmoothedCrossEntropy, "__call__", call)
        yield


def train(spec: Any, task: Path, folder: Path, **runtime: Any) -> RunPaths:
    train_run(spec, task, folder, device="cpu", threads=1, runtime=RuntimeOptions(**runtime))
    return RunPaths(folder)


def batches_of(spec: Any, task: Path, epoch: int = 0) -> list[list[int]]:
    split, recipe = TaskData.load(task).split("train"), spec.training
    rows = usable(split, [0, 1], recipe.max_length)
    return [
        batch.tolist()
        for batch in epoch_batches(split, rows, max_tokens=recipe.max_tokens, seed=spec.seed, epoch=epoch)
    ]


def events(paths: RunPaths, name: str) -> list[dict[str, Any]]:
    return [record for record in read_metrics(paths.metrics) if record.get("event") == name]


@pytest.fixture
def spec(make_spec: Any) -> Any:
    return make_spec("transformer", **FORM)


def longest(task: Path, rows: list[int]) -> int:
    """Return the longest of the sentences: one that stands in no other batch."""
    lengths = TaskData.load(task).split("train").target.lengths
    return max(rows, key=lambda row: int(lengths[row]))


@pytest.mark.parametrize("kind", list(SPOILERS))
def test_a_run_that_stops_says_where_and_leaves_the_sentences(
    make_spec: Any, toy_task: Path, tmp_path: Path, kind: str
) -> None:
    spec = make_spec("transformer", **FORM, accumulate_batches=2)
    batches = batches_of(spec, toy_task)
    bad = batches[11]  # the second batch of update 6, found out at update 8 by the checkpoint or the weights
    with spoilt(toy_task, [longest(toy_task, bad)], SPOILERS[kind]), pytest.raises(TrainingError) as caught:
        train(spec, toy_task, tmp_path)
    path = tmp_path / "broken-update-00000006.json"
    line = str(caught.value)
    assert "\n" not in line and str(path) in line and "began in update 6, batch " in line and "on_nan: rollback" in line
    found = json.loads(path.read_text())
    assert (found["update"], found["epoch"]) == (6, 0)
    if kind == "loss":
        [batch] = found["batches"]
        assert batch["position"] == 11 and batch["losses"] == {"generation": "inf"}
    else:  # which of the two batches the gradient came from cannot be told
        assert [one["position"] for one in found["batches"]] == [10, 11]
        batch = found["batches"][1]
        assert math.isfinite(batch["losses"]["generation"]) and found["gradient_norms"] == ["nan"]
    assert [sentence["row"] for sentence in batch["sentences"]] == bad and batch["left_out"] == 0
    data = TaskData.load(toy_task)
    for sentence in batch["sentences"]:
        row = sentence["row"]
        assert sentence["target"].split() == data.target_vocab.decode(data.split("train").target[row].tolist())
        assert sentence["domain"] == data.domains[data.split("train").domains[row]]
    # Nothing of it was saved: the checkpoint before is the newest, and the same command comes to the same end.
    assert sorted(folder.name for folder in RunPaths(tmp_path).checkpoints.iterdir()) == ["update-00000004"]


@pytest.mark.slow
def test_the_command_ends_with_status_2_and_one_line(
    spec: Any, toy_task: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["train", "--spec", spec.model_dump_json(), "--task", str(toy_task), "--out", str(tmp_path)]
    with spoilt(toy_task, [longest(toy_task, batches_of(spec, toy_task)[2])], SPOILERS["loss"]):
        assert main([*command, "--device", "cpu"]) == 2
        err = capsys.readouterr().err
        assert err.count("\n") == 1 and str(tmp_path / "broken-update-00000003.json") in err
        assert main([*command, "--device", "cpu", "--on-nan", "rollback"]) == 0
    assert RunPaths(tmp_path).record.exists()


# At 4 a training line is written before its gradient shows.
@pytest.mark.slow
@pytest.mark.parametrize(
    "case",
    chosen_cases(
        [(2, "loss", 0.0), (4, "loss", 1.0), (7, "loss", 1.0), (2, "gradient", 1.0), (4, "gradient", 0.0),
         (4, "gradient", 1.0), (7, "gradient", 0.0)],
        (4, "loss", 1.0),
    ),
)  # fmt: skip
def test_rolled_back_it_is_the_run_without_the_batch(
    make_spec: Any, toy_task: Path, tmp_path: Path, case: tuple[int, str, float]
) -> None:
    place, kind, clip_norm = case
    spec = make_spec("transformer", **FORM, clip_norm=clip_norm)
    bad = longest(toy_task, batches_of(spec, toy_task)[place])
    with spoilt(toy_task, [bad], SPOILERS[kind]):
        paths = train(spec, toy_task, tmp_path / "rolled", on_nan="rollback")
    skip = {"update": place + 1, "epoch": 0, "positions": [place]}
    assert json.loads(paths.record.read_text())["skipped_batches"] == [skip]
    [event] = events(paths, "rollback")
    assert event == {"event": "rollback", "at_update": place + 1, "to_update": 4 * (place // 4), **skip}
    assert (paths.folder / f"broken-update-{place + 1:08d}.json").exists()

    # The same run told beforehand to leave the batch out, and nothing spoilt.
    class Told(trainer_module.Progress):
        def __init__(self, **values: Any) -> None:
            super().__init__(**values)
            self.skipped = [skip]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trainer_module, "Progress", Told)
        expected = train(spec, toy_task, tmp_path / "told")
    assert paths.model.read_bytes() == expected.model.read_bytes()
    assert paths.curves.read_bytes() == expected.curves.read_bytes()


# Before, at and behind the broken updates 6 and 9 (which come up again as others), and at validations.
@pytest.mark.slow
@pytest.mark.parametrize("stopped", chosen_cases([1, 5, 6, 8, 9, 10], 9))
def test_stopped_anywhere_and_resumed_it_is_the_same(spec: Any, toy_task: Path, tmp_path: Path, stopped: int) -> None:
    rows = [longest(toy_task, batches_of(spec, toy_task)[place]) for place in (5, 8)]
    original, sent = trainer_module.learning_rate, []

    def schedule(number: int, recipe: Any) -> float:
        if number == stopped and not sent:
            sent.append(number)
            signal.raise_signal(signal.SIGTERM)
        return original(number, recipe)

    with spoilt(toy_task, rows, SPOILERS["loss"]):
        whole = train(spec, toy_task, tmp_path / "whole", on_nan="rollback")
        assert len(json.loads(whole.record.read_text())["skipped_batches"]) == 2
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(trainer_module, "learning_rate", schedule)
            with pytest.raises(Interrupted):
                train(spec, toy_task, tmp_path / "stopped", on_nan="rollback")
        torch.manual_seed(1)
        paths = train(spec, toy_task, tmp_path / "stopped", on_nan="rollback")
    assert paths.model.read_bytes() == whole.model.read_bytes()
    assert paths.curves.read_bytes() == whole.curves.read_bytes()
    skipped = [json.loads(one.record.read_text())["skipped_batches"] for one in (paths, whole)]
    assert skipped[0] == skipped[1]


def test_it_gives_up_when_it_breaks_again_and_again(spec: Any, toy_task: Path, tmp_path: Path) -> None:
    rows = [longest(toy_task, batch) for batch in batches_of(spec, toy_task)[4:9]]
    with (
        spoilt(toy_task, rows, SPOILERS["loss"]),
        pytest.raises(TrainingError, match=f"{MAX_ROLLBACKS} batches were left out before"),
    ):
        train(spec, toy_task, tmp_path, on_nan="rollback")
    assert len(events(RunPaths(tmp_path), "rollback")) == MAX_ROLLBACKS


@pytest.mark.slow
def test_the_choice_is_no_part_of_a_run_and_changes_nothing_in_one_that_goes_well(
    spec: Any, toy_task: Path, tmp_path: Path
) -> None:
    plain = train(spec, toy_task, tmp_path / "plain")
    careful = train(spec, toy_task, tmp_path / "careful", on_nan="rollback")
    assert plain.model.read_bytes() == careful.model.read_bytes()
    assert plain.curves.read_bytes() == careful.curves.read_bytes()
    assert "on_nan" not in plain.record.read_text()
