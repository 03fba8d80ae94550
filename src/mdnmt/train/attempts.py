"""Count the attempts at a run, stop a run that makes no progress, and requeue SLURM jobs."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mdnmt import fsio
from mdnmt.errors import Interrupted, LeaseError, MdnmtError
from mdnmt.paths import RunPaths
from mdnmt.train.lease import lease_is_live, read_holder, slurm_job

# Training leaves a fifth of a job's time, at most ten minutes, for saving and everything else.
MARGIN, MOST_MARGIN_MINUTES = 0.2, 10.0
# Delay of a requeued job if a process outside SLURM holds its run.
WAIT_MINUTES = 5
_COMMAND_SECONDS = 30

Call = Callable[[list[str]], str | None]


class NoProgress(MdnmtError):
    """A run made no progress in several attempts, so another one would not help."""


def call(command: list[str]) -> str | None:
    """Run a SLURM command and return its output; None if it fails or is not installed."""
    try:
        done = subprocess.run(command, text=True, capture_output=True, check=False, timeout=_COMMAND_SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


@contextmanager
def counted(folder: Path, *, limit: int, is_first: bool) -> Iterator[None]:
    """Count an attempt at the run in `folder` and record how it ended.

    A new checkpoint resets the count. An attempt that is refused because another process holds the run does not count.

    Args:
        folder: the run's folder.
        limit: largest number of attempts without progress; 0: no limit.
        is_first: the user started the run by hand, so earlier attempts do not count. A SLURM job that was requeued
            also starts with `is_first`; it is recognised by its job number, and its earlier attempts do count.

    Raises:
        NoProgress: `limit` attempts ended without a new checkpoint.
    """
    path = folder / "attempts.json"
    update = _newest_update(RunPaths(folder).checkpoints)
    before, job = _read(path), slurm_job()
    if is_first and (job is None or before.get("job") != job):
        before = {}
    tries = before.get("tries", 0) if before.get("update") == update else 0
    if limit and tries >= limit:
        raise NoProgress(
            f"{folder}: no progress beyond update {update} in {tries} attempts, so this one is not begun; the last "
            f"ended with: {before.get('error')}; put that right, then start snakemake again"
        )
    # An attempt that will be refused must not overwrite the record of the process that holds the run.
    if lease_is_live(RunPaths(folder).lease, wait=True) is None:
        _write(path, job, update, tries + 1, "nothing said: it was killed, or its machine failed")
    try:
        yield
    except LeaseError:
        raise
    except BaseException as error:
        # Signals count too: a job that is always preempted makes no progress.
        _write(path, job, update, tries + 1, " ".join(str(error).split()) or type(error).__name__)
        raise
    path.unlink(missing_ok=True)


def minutes_to_train(job_minutes: float, *, run: Call = call) -> float:
    """Return how many minutes a job may train, given its time limit.

    SLURM is asked how much of the limit is left. Without an answer, the job is assumed to begin now.
    """
    left = _slurm_minutes_left(run)
    margin = min(MARGIN * job_minutes, MOST_MARGIN_MINUTES)
    return max(0.0, (job_minutes if left is None else left) - margin)


def requeue(error: Interrupted | LeaseError, folder: Path, *, run: Call = call) -> str | None:
    """Requeue this SLURM job and return what was done, in words; None if the job was not requeued.

    A job is requeued after the trainer's own time limit, when everything is saved. It is also requeued if another
    process holds the run; it then waits for the job of that process. It is not requeued after a signal: the sender
    (preemption, scancel, a failing node) decides what happens next.
    """
    job = slurm_job()
    if job is None or (isinstance(error, Interrupted) and not str(error).startswith("time limit")):
        return None
    behind = _behind(folder, job) if isinstance(error, LeaseError) else None
    # SLURM terminates the processes of a job that it requeues: ignore the signal, to finish this function.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if run(["scontrol", "requeue", job]) is None:
        return None
    # A requeued job stays pending for a while. A condition can only be set on a pending job.
    if behind and run(["scontrol", "update", f"JobId={job}", behind]) is not None:
        return f"SLURM job {job} is queued again, {behind}"
    return f"SLURM job {job} is queued again"


def _behind(folder: Path, job: str) -> str:
    holder = read_holder(RunPaths(folder).lease)
    if holder is not None and holder.job is not None and holder.job != job:
        return f"Dependency=afterany:{holder.job}"
    return f"StartTime=now+{WAIT_MINUTES}minutes"


def _slurm_minutes_left(run: Call) -> float | None:
    job, end = slurm_job(), os.environ.get("SLURM_JOB_END_TIME", "")
    if job is None:
        return None
    if end.isdigit():
        return (int(end) - time.time()) / 60
    printed = run(["squeue", "--noheader", f"--jobs={job}", "--format=%L"])
    found = re.fullmatch(r"(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+)", (printed or "").strip())
    if found is None:
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in found.groups())
    return (days * 24 + hours) * 60 + minutes + seconds / 60


def _newest_update(checkpoints: Path) -> int:
    from mdnmt.checkpoints.store import CheckpointStore  # watching runs, which imports this file, needs no PyTorch

    return max(CheckpointStore(checkpoints, "").updates(), default=0)


def _read(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def _write(path: Path, job: str | None, update: int, tries: int, error: str) -> None:
    fsio.write_sealed(path, {"job": job, "update": update, "tries": tries, "error": error})
