"""A trace of some updates changes nothing of the run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mdnmt.train.profiling import TRACE
from mdnmt.train.run import train_run
from mdnmt.train.trainer import RuntimeOptions


@pytest.mark.slow
def test_the_trace_holds_its_updates_and_the_weights_are_the_same(
    tmp_path: Path, make_spec: Any, toy_task: Path
) -> None:
    spec = make_spec(max_updates=4)
    for name, updates in (("plain", 0), ("two", 2), ("cut", 9)):
        train_run(spec, toy_task, tmp_path / name, device="cpu", runtime=RuntimeOptions(profile_updates=updates))
    assert len({(tmp_path / name / "model.safetensors").read_bytes() for name in ("plain", "two", "cut")}) == 1
    assert not (tmp_path / "plain" / TRACE).exists()
    steps = {}
    for name in ("two", "cut"):
        events = json.loads((tmp_path / name / TRACE).read_text())["traceEvents"]
        steps[name] = len({event["name"] for event in events if event.get("name", "").startswith("ProfilerStep#")})
        assert any(event.get("name") == "aten::mm" for event in events)
    assert steps == {"two": 2, "cut": steps["cut"]} and steps["cut"] >= 3
