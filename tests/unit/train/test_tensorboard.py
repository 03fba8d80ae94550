"""TensorBoard files hold every measured point once, however often the run was resumed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from mdnmt.paths import RunPaths
from mdnmt.train.metrics import MetricsLog, deduplicate, read_metrics
from mdnmt.train.run import train_run
from mdnmt.train.tensorboard import write_events


def test_the_events_are_the_measurements(tmp_path: Path, make_spec: Any, toy_task: Path) -> None:
    train_run(make_spec(max_updates=12), toy_task, tmp_path, device="cpu")
    paths = RunPaths(tmp_path)
    records = read_metrics(paths.metrics)
    with MetricsLog(paths.metrics) as log:
        log.append(records[1])  # measured again after a resume
    events = EventAccumulator(str(write_events(tmp_path)))
    events.Reload()
    points = [record for record in deduplicate(records) if record.get("split") == "valid" and record["domain"] == "all"]
    found = events.Scalars("loss/valid/all")
    assert [event.step for event in found] == [point["update"] for point in points] == [4, 8, 12]
    assert [event.value for event in found] == pytest.approx([point["loss"] for point in points], rel=1e-6)
    assert "bleu/valid/law" in events.Tags()["scalars"]
    # Made anew, not beside the old: TensorBoard would draw both.
    write_events(tmp_path)
    assert len(list((tmp_path / "tensorboard").iterdir())) == 1
