"""Snakemake interrupted and killed while it trains: nothing is lost, and the lock opens when nobody is at work."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from workflow.snakemake_project import Project

from mdnmt.train.lease import read_holder
from mdnmt.train.metrics_log import read_metrics

pytestmark = pytest.mark.slow

UPDATES = 900


def until(happened: Callable[[], bool], process: subprocess.Popen[bytes] | None = None) -> None:
    """Wait until something happened; it must happen before `process` ends."""
    while not happened():
        assert process is None or process.poll() is None, "it ended too soon"
        select.select([], [], [], 0.01)


@pytest.fixture
def long_project(project: Project) -> Project:
    """Return a project whose study `long` trains one run, long enough to be found at work."""
    project.path("config/studies/long.yaml").write_text(project.path("config/studies/tiny.yaml").read_text())
    training = {"max_updates": UPDATES, "validate_every": UPDATES // 3, "log_every": 1, "average_checkpoints": 1}
    changes = {f"options__0__set__training__{key}": value for key, value in training.items()}
    project.update("config/studies/long.yaml", methods=["mixed"], tables={}, figures={}, **changes)
    project.edit("config/config.yaml", "study: tiny", "study: long")
    return project


def size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def test_interrupt_kill_and_unlock(long_project: Project) -> None:
    project = long_project
    [model] = [project.path(name) for name in project.plan("models").outputs["train"] if name.endswith("safetensors")]
    metrics, lease = model.with_name("metrics.jsonl"), model.with_name("lease")

    # Ctrl-C, as a terminal sends it: to everybody.
    process = project.start("--cores", "1", "models")
    until(lambda: size(metrics) > 3000, process)
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait() != 0
    until(lambda: not lease.exists())
    [end] = [record["at_update"] for record in read_metrics(metrics) if record.get("event") == "end"]
    assert 0 < end < UPDATES and list(model.parent.glob(f"ckpt/update-{end:08d}"))
    assert not model.exists()

    # At work again: the lock stays closed for others, also when only the trainer is left.
    process, before = project.start("--cores", "1", "models"), size(metrics)
    until(lambda: size(metrics) > before + 3000, process)
    refused = project.mdnmt("unlock")
    assert refused.returncode == 75 and f"snakemake (process {process.pid})" in refused.stderr
    holder = read_holder(lease)
    assert holder is not None
    # Stopped, so that it is still there when we look, however slow the machine.
    trainer = psutil.Process(holder.pid)
    trainer.suspend()
    process.kill()
    process.wait()
    refused = project.mdnmt("unlock")
    assert refused.returncode == 75 and f"the trainer of {model.parent.name}" in refused.stderr
    trainer.terminate()
    trainer.resume()
    until(lambda: not trainer.is_running() or trainer.status() == psutil.STATUS_ZOMBIE)
    project.snakemake("--cores", "1", "models", status=1)
    opened = project.mdnmt("unlock")
    assert opened.returncode == 0 and "opened the lock" in opened.stdout
    assert project.mdnmt("unlock").stdout == ""

    project.snakemake("--cores", "1", "models")
    record = json.loads(model.with_name("run.json").read_text())
    assert record["updates"] == UPDATES and record["resumes"] == 2


def test_sigterm_to_mdnmt_run_stops_as_ctrl_c_does(long_project: Project) -> None:
    """Without a terminal, only `mdnmt run` gets the signal; no Snakemake and no training stays behind."""
    project = long_project
    [model] = [project.path(name) for name in project.plan("models").outputs["train"] if name.endswith("safetensors")]
    metrics, lease = model.with_name("metrics.jsonl"), model.with_name("lease")
    command = [sys.executable, "-m", "mdnmt.cli", "run", "long", "models"]
    process = subprocess.Popen(command, cwd=project.folder, start_new_session=True)
    until(lambda: size(metrics) > 3000, process)
    started = psutil.Process(process.pid).children(recursive=True)
    process.terminate()
    assert process.wait() != 0
    until(lambda: not lease.exists() and not any(one.is_running() for one in started))
    [end] = [record["at_update"] for record in read_metrics(metrics) if record.get("event") == "end"]
    assert 0 < end < UPDATES and list(model.parent.glob(f"ckpt/update-{end:08d}"))
