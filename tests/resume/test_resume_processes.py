"""The real `mdnmt train` process, killed and stopped from outside, ends with the bytes of a run never touched."""

from __future__ import annotations

import json
import os
import random
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import mdnmt
from mdnmt.cli import main
from mdnmt.paths import RunPaths
from mdnmt.train.metrics_log import read_metrics
from mdnmt.train.run import train_run

KILLS = 6
pytestmark = pytest.mark.slow


def command(spec: Any, task: Path, folder: Path, *more: str) -> list[str]:
    arguments = ["--spec", spec.model_dump_json(), "--task", str(task), "--out", str(folder)]
    return [sys.executable, "-m", "mdnmt.cli", "train", *arguments, "--device", "cpu", "--threads", "1", *more]


def start(arguments: list[str], source: Path | None = None) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    if source:
        environment |= {"PYTHONPATH": str(source), "MDNMT_OTHER_PACKAGE": "1"}
    return subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment)


def wait_for(process: subprocess.Popen[bytes], happened: Callable[[], bool]) -> bool:
    """Wait until something happened (True) or the process ended before it did (False)."""
    while process.poll() is None:
        if happened():
            return True
        select.select([], [], [], 0.002)
    return False


def size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def newest_update(paths: RunPaths) -> int:
    return max((int(path.name[7:15]) for path in paths.checkpoints.glob("update-*")), default=0)


def random_moment(generator: random.Random, paths: RunPaths) -> Callable[[], bool]:
    """Return a condition that becomes true somewhere in the life of a trainer that is about to start."""
    kind = generator.choice(["line", "save", "pause", "early"])
    update, pause = newest_update(paths) + generator.randint(1, 25), generator.uniform(0.0, 0.05)
    lines = size(paths.metrics) + generator.randint(1, 500)
    reached: list[float] = []

    def happened() -> bool:
        if kind == "early":  # in the first lines after the start, or in the middle of one
            return size(paths.metrics) >= lines
        if newest_update(paths) >= update:
            reached.append(time.monotonic())
        if kind == "save":  # a checkpoint is being written
            return bool(reached) and any(paths.checkpoints.glob(".update-*.tmp"))
        return bool(reached) and (kind == "line" or time.monotonic() >= reached[0] + pause)

    return happened


@pytest.fixture
def long_spec(make_spec: Any) -> Any:
    # Long enough that six kills find it at work.
    return make_spec(max_updates=240, validate_every=60, log_every=1, average_checkpoints=3)


def test_killed_at_random_moments(long_spec: Any, toy_task: Path, tmp_path: Path) -> None:
    train_run(long_spec, toy_task, tmp_path / "whole", device="cpu", threads=1)
    whole, paths = RunPaths(tmp_path / "whole"), RunPaths(tmp_path / "killed")
    arguments = command(long_spec, toy_task, paths.folder, "--save-every-updates", "1")
    generator, kills = random.Random(20), 0
    while kills < KILLS:
        moment = random_moment(generator, paths)
        process = start(arguments)
        hit = wait_for(process, moment)
        process.kill()
        _, err = process.communicate()
        if not hit:
            assert process.returncode == 0, err.decode()
            break  # a machine so busy that the run ended between two looks
        kills += 1
        assert process.returncode == -signal.SIGKILL
    assert kills >= KILLS // 2
    process = start(arguments)
    wait_for(process, lambda: newest_update(paths) == 240)
    process.kill()  # once more, with the last update done and the final files not yet written (or just written)
    process.communicate()
    process = start(arguments)
    _, err = process.communicate()
    assert process.returncode == 0, err.decode()
    assert paths.model.read_bytes() == whole.model.read_bytes()
    assert paths.curves.read_bytes() == whole.curves.read_bytes()
    begun = [record["event"] for record in read_metrics(paths.metrics) if record.get("event") in {"start", "resume"}]
    assert "resume" in begun


def test_sigterm_saves_and_the_same_command_goes_on(long_spec: Any, toy_task: Path, tmp_path: Path) -> None:
    spec = long_spec.model_copy(update={"training": long_spec.training.model_copy(update={"max_updates": 120})})
    train_run(spec, toy_task, tmp_path / "whole", device="cpu", threads=1)
    whole, paths = RunPaths(tmp_path / "whole"), RunPaths(tmp_path / "stopped")
    arguments = command(spec, toy_task, paths.folder)
    process = start(arguments)
    assert wait_for(process, lambda: size(paths.metrics) > 500)
    # While it is at work a second trainer is turned away with the status for "come back".
    process.send_signal(signal.SIGSTOP)
    assert main(arguments[3:]) == 75
    process.send_signal(signal.SIGCONT)
    process.terminate()
    _, err = process.communicate()
    assert process.returncode == 75, err.decode()
    assert b"SIGTERM: saved at update" in err and err.count(b"\n") == 1
    [saved] = [record["at_update"] for record in read_metrics(paths.metrics) if record.get("event") == "end"]
    assert (paths.checkpoints / f"update-{saved:08d}").is_dir()
    assert not paths.lease.exists() and not paths.model.exists()
    process = start(arguments)
    _, err = process.communicate()
    assert (process.returncode, err) == (0, b"")
    assert json.loads(paths.record.read_text())["resumes"] == 1
    assert paths.model.read_bytes() == whole.model.read_bytes()
    assert paths.curves.read_bytes() == whole.curves.read_bytes()


def test_killed_at_update_50_a_run_is_not_continued_with_another_loss(
    long_spec: Any, toy_task: Path, tmp_path: Path
) -> None:
    spec = long_spec.model_copy(update={"training": long_spec.training.model_copy(update={"max_updates": 120})})
    source, paths = tmp_path / "source", RunPaths(tmp_path / "run")
    shutil.copytree(Path(mdnmt.__file__).parent, source / "mdnmt", ignore=shutil.ignore_patterns("__pycache__"))
    arguments = command(spec, toy_task, paths.folder, "--save-every-updates", "10")
    process = start(arguments, source)
    assert wait_for(process, lambda: newest_update(paths) >= 50)
    process.kill()
    process.communicate()
    saved = newest_update(paths)
    kept = {path.name: path.read_bytes() for path in sorted(paths.checkpoints.glob("update-*/*"))}
    loss = source / "mdnmt/models/cross_entropy.py"
    before = loss.read_text()

    def continued(*more: str) -> tuple[int, str]:
        process = start([*arguments, *more], source)
        _, err = process.communicate()
        return process.returncode, err.decode()

    loss.write_text(f"{before}MIN_PIECE_ROWS = 127\n")
    status, err = continued()
    assert status == 2 and err.count("\n") == 1
    assert f"was trained up to update {saved} by other training code" in err and "--accept-code-change" in err
    assert {path.name: path.read_bytes() for path in sorted(paths.checkpoints.glob("update-*/*"))} == kept
    assert continued("--accept-code-change") == (0, "")
    attempts = [(attempt["at_update"], attempt["code"]) for attempt in json.loads(paths.record.read_text())["attempts"]]
    assert [update for update, _ in attempts] == [0, saved] and attempts[0][1] != attempts[1][1]
