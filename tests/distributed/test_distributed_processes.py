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


def workers_of(process: subprocess.Popen[bytes]) -> list[int]:
    """Return the workers that a command has started; its other child is a helper of Python's multiprocessing."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    return [int(child) for child in children if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes()]


def is_running(worker: int) -> bool:
    status = Path(f"/proc/{worker}/status")
    return status.exists() and "zombie" not in status.read_text()


def wait_for(process: subprocess.Popen[bytes], happened: Callable[[], bool]) -> None:
    while not happened():
        assert process.poll() is None, process.communicate()[1].decode()
        select.select([], [], [], 0.005)


def test_started_killed_stopped_and_by_torchrun(make_spec: Any, toy_task: Path, tmp_path: Path) -> None:
    # Long enough that it is found at work. Two workers of torchrun compute what two of ours do.
    spec = make_spec("transformer", max_updates=200, validate_every=40, validation_bleu_sentences=0)
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
    first, second = workers_of(process)
    os.kill(second, signal.SIGKILL)
    _, err = process.communicate()
    line = (
        b"mdnmt train: worker 1 of 2 was ended by SIGKILL; what was done since the last checkpoint is lost: the same "
    )
    assert process.returncode == 75 and err == line + b"command goes on from there\n"
    assert not is_running(first) and reached(40)()

    # Ctrl-C in a terminal reaches the whole process group; the other is what SLURM and `kill` send.
    stops = ((80, signal.SIGTERM, os.kill), (120, signal.SIGINT, os.killpg))
    for update, number, send in stops:
        process = launch(spec, toy_task, paths.folder)
        wait_for(process, reached(update))
        workers = workers_of(process)
        send(process.pid, number)
        _, err = process.communicate()
        assert process.returncode == 75, err.decode()
        assert err.startswith(f"mdnmt train: {number.name}: saved at update ".encode()) and err.count(b"\n") == 1
        assert len(workers) == 2 and not any(map(is_running, workers)) and not paths.lease.exists()

    process = launch(spec, toy_task, paths.folder)
    wait_for(process, reached(160))
    workers = workers_of(process)
    process.kill()  # the workers do not train on
    process.communicate()
    while any(map(is_running, workers)):
        select.select([], [], [], 0.01)

    process = launch(spec, toy_task, paths.folder)
    _, err = process.communicate()
    assert (process.returncode, err) == (0, b"")
    assert paths.model.read_bytes() == whole.model.read_bytes()
    assert paths.curves.read_bytes() == whole.curves.read_bytes()


STOPPED = """
import os, signal, threading, time
from mdnmt.errors import Interrupted
from mdnmt.train.launch import launch
from mdnmt.train.signals import StopRequest

def work():
    with StopRequest() as stop:
        os.kill(os.getppid(), signal.SIGTERM)
        while stop.signal_name is None:
            time.sleep(0.01)
    raise Interrupted("saved")

if __name__ == "__main__":
    try:
        launch(work, 1, device="cpu", limit_minutes=None)
    except Interrupted as error:
        print(error, [thread.name for thread in threading.enumerate()])
"""


def test_a_stopped_launcher_leaves_no_thread_of_torch(tmp_path: Path) -> None:
    # One that is in a call to torch's store when the interpreter ends would abort the process.
    script = tmp_path / "stopped.py"
    script.write_text(STOPPED)
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False, timeout=300)
    assert done.stdout == "saved ['MainThread']\n", done.stderr


def test_a_mistake_is_one_line_and_nothing_is_written(make_spec: Any, toy_task: Path, tmp_path: Path) -> None:
    spec = make_spec("dmoe", architecture={"gate_input": "mix", "balance_losses": "lb1"}, accumulate_batches=1)
    process = launch(spec, toy_task, tmp_path / "run")
    _, err = process.communicate()
    assert process.returncode == 2 and err.count(b"\n") == 1
    assert err.startswith(b"mdnmt train: found 2 workers for updates of 1 batches, but the loss 'balance' has no ")
    assert not RunPaths(tmp_path / "run").checkpoints.exists()
