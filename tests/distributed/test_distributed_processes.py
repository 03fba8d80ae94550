"""The real command: workers that it starts itself and workers of torchrun, killed and stopped from outside."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mdnmt.paths import RunPaths

pytestmark = pytest.mark.slow


def arguments(spec: Any, task: Path, folder: Path) -> list[str]:
    said = ["train", "--spec", spec.model_dump_json(), "--task", str(task), "--out", str(folder)]
    return [*said, "--device", "cpu", "--threads", "1", "--worker-timeout-minutes", "1"]


def start(command: list[str]) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
    return subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment, start_new_session=True
    )


def launch(spec: Any, task: Path, folder: Path) -> subprocess.Popen[bytes]:
    return start([sys.executable, "-m", "mdnmt.cli", *arguments(spec, task, folder), "--workers", "2"])


def children(process: subprocess.Popen[bytes]) -> list[int]:
    return [int(word) for word in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()]


def wait_for(process: subprocess.Popen[bytes], happened: Callable[[], bool]) -> None:
    while not happened():
        assert process.poll() is None, process.communicate()[1].decode()
        select.select([], [], [], 0.005)


def test_started_killed_stopped_and_by_torchrun(make_spec: Any, toy_task: Path, tmp_path: Path) -> None:
    # Long enough that it is found at work. Two workers of torchrun compute what two of ours do.
    spec = make_spec("transformer", max_updates=240, validate_every=40, validation_bleu_sentences=0)
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--local-addr=127.0.0.1"]
    torchrun += ["--nproc-per-node=2", "-m", "mdnmt.cli"]
    process = start([*torchrun, *arguments(spec, toy_task, tmp_path / "whole")])
    _, err = process.communicate()
    assert process.returncode == 0, err.decode()
    whole, paths = RunPaths(tmp_path / "whole"), RunPaths(tmp_path / "run")

    def reached(update: int) -> Callable[[], bool]:
        return lambda: (paths.checkpoints / f"update-{update:08d}").is_dir()

    process = launch(spec, toy_task, paths.folder)
    wait_for(process, reached(40))
    [worker] = children(process)
    os.kill(worker, signal.SIGKILL)
    _, err = process.communicate()
    line = (
        b"mdnmt train: worker 1 of 2 was ended by SIGKILL; what was done since the last checkpoint is lost: the same "
    )
    assert process.returncode == 75 and err == line + b"command goes on from there\n"
    assert not paths.lease.exists()

    process = launch(spec, toy_task, paths.folder)
    wait_for(process, reached(80))
    [worker] = children(process)
    process.terminate()
    _, err = process.communicate()
    assert process.returncode == 75
    assert err.startswith(b"mdnmt train: SIGTERM: saved at update ") and err.count(b"\n") == 1
    assert not Path(f"/proc/{worker}").exists()

    process = launch(spec, toy_task, paths.folder)
    wait_for(process, reached(160))
    [worker] = children(process)
    process.kill()  # the other one loses it, and does not train on
    process.communicate()
    while Path(f"/proc/{worker}/status").exists() and "zombie" not in Path(f"/proc/{worker}/status").read_text():
        select.select([], [], [], 0.01)

    process = launch(spec, toy_task, paths.folder)
    _, err = process.communicate()
    assert (process.returncode, err) == (0, b"")
    assert paths.model.read_bytes() == whole.model.read_bytes()
    assert paths.curves.read_bytes() == whole.curves.read_bytes()
