"""TensorBoard files are written while a run trains, and hold every measured point once after a resume."""

from __future__ import annotations

import builtins
from pathlib import Path
from typing import Any

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from mdnmt.checkpoints.store import CheckpointStore
from mdnmt.errors import ConfigError, Interrupted
from mdnmt.paths import RunPaths
from mdnmt.train.metrics_log import deduplicate, read_metrics
from mdnmt.train.run import train_run
from mdnmt.train.tensorboard import TensorBoardLog
from mdnmt.train.trainer import RuntimeOptions


def _events(folder: Path) -> EventAccumulator:
    [_] = (folder / "tensorboard").iterdir()  # two files would show as two curves
    events = EventAccumulator(str(folder / "tensorboard"))
    events.Reload()
    return events


@pytest.mark.slow
def test_the_events_are_the_measurements(
    tmp_path: Path, make_spec: Any, toy_task: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[list[int]] = []
    save = CheckpointStore.save

    def look(store: CheckpointStore, *args: Any) -> None:
        seen.append([event.step for event in _events(tmp_path).Scalars("loss/valid/all")])
        if len(seen) == 2:
            raise Interrupted("stopped before the checkpoint of update 8")
        save(store, *args)

    monkeypatch.setattr(CheckpointStore, "save", look)
    spec = make_spec(max_updates=12, clip_norm=1.0, log_every=4, validation_bleu_sentences=3)
    runtime = RuntimeOptions(tensorboard=True)
    with pytest.raises(Interrupted):
        train_run(spec, toy_task, tmp_path, device="cpu", runtime=runtime)
    train_run(spec, toy_task, tmp_path, device="cpu", runtime=runtime)
    # During training, and without the validation at update 8 that the resumed run repeats.
    assert seen == [[4], [4, 8], [4, 8], [4, 8, 12]]
    records = deduplicate(read_metrics(RunPaths(tmp_path).metrics))
    points = [record for record in records if record.get("split") == "valid" and record["domain"] == "all"]
    events = _events(tmp_path)
    found = events.Scalars("loss/valid/all")
    assert [event.step for event in found] == [point["update"] for point in points] == [4, 8, 12]
    assert [event.value for event in found] == pytest.approx([point["loss"] for point in points], rel=1e-6)
    [*_, line] = [record for record in records if record.get("split") == "train"]
    assert events.Scalars("loss/train/law")[-1].value == pytest.approx(line["domain_losses"]["law"], rel=1e-6)
    assert {"bleu/valid/law", "gradient_norm/train/all"} <= set(events.Tags()["scalars"])


def test_a_missing_package_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def missing(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == "torch.utils.tensorboard":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(ConfigError, match="pip install tensorboard"):
        TensorBoardLog(tmp_path)
