"""Attempts at one run: an end to those that come no further, and how a job of a cluster comes back."""

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
from mdnmt.checkpoints.store import CheckpointStore
from mdnmt.errors import Interrupted, LeaseError, MdnmtError
from mdnmt.paths import RunPaths
from mdnmt.train.lease import lease_is_live, read_holder, slurm_job

# Of a job's time, left over for saving and for all that is not training: a fifth, ten minutes at most.
MARGIN, MOST_MARGIN_MINUTES = 0.2, 10.0
# How long a job waits that found its run held by somebody outside of SLURM.
WAIT_MINUTES = 5
_COMMAND_SECONDS = 30

Call = Callable[[list[str]], str | None]


class NoProgress(MdnmtError):
    """A run came no further in so many attempts that another one is of no use."""


def call(command: list[str]) -> str | None:
    """Run a command of SLURM and return what it printed; None where it fails or is not there."""
    try:
        done = subprocess.run(command, text=True, capture_output=True, check=False, timeout=_COMMAND_SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


@contextmanager
def counted(folder: Path, *, limit: int, is_first: bool) -> Iterator[None]:
    """Count an attempt at the run in `folder`; its error is kept for the day when there are too many.

    An attempt counts until a later one starts from a later checkpoint. One that is refused because somebody else holds
    the run does not count.

    Args:
        folder: of the run.
        limit: attempts that may come no further; 0: any number.
        is_first: somebody started anew, by hand: what was before does not count. A SLURM job that was queued again is
            its first attempt still, and is known by its number.

    Raises:
        NoProgress: there were too many.
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
    # Not written by one that will be refused: the record is the holder's.
    if lease_is_live(RunPaths(folder).lease, wait=True) is None:
        _write(path, job, update, tries + 1, "nothing said: it was killed, or its machine failed")
    try:
        yield
    except LeaseError:
        raise
    except BaseException as error:
        # A signal is nobody's fault, but is told as well: a job that is always preempted comes no further either.
        _write(path, job, update, tries + 1, " ".join(str(error).split()) or type(error).__name__)
        raise
    path.unlink(missing_ok=True)


def minutes_to_train(job_minutes: float, *, run: Call = call) -> float:
    """Return how long training may go on in a job of so many minutes.

    SLURM is asked what is left of them; where it does not say, the job is taken to begin now.
    """
    left = _slurm_minutes_left(run)
    margin = min(MARGIN * job_minutes, MOST_MARGIN_MINUTES)
    return max(0.0, (job_minutes if left is None else left) - margin)


def requeue(error: Interrupted | LeaseError, folder: Path, *, run: Call = call) -> str | None:
    """Ask SLURM to start this very job again, and say what was done; None where nothing was asked for.

    Asked for after a time limit of the trainer's own, which saved everything, and where somebody else holds the run:
    then behind that one's job. Not after a signal: who sent it (preemption, scancel, a failing node) decides.
    """
    job = slurm_job()
    if job is None or (isinstance(error, Interrupted) and not str(error).startswith("time limit")):
        return None
    behind = _behind(folder, job) if isinstance(error, LeaseError) else None
    # SLURM ends the job that it is to start again, us included, before we are done.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if run(["scontrol", "requeue", job]) is None:
        return None
    # A job that just ended waits a while in any case; a hold on it can only be put where it is pending.
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
    return max(CheckpointStore(checkpoints, "").updates(), default=0)


def _read(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def _write(path: Path, job: str | None, update: int, tries: int, error: str) -> None:
    fsio.write_sealed(path, {"job": job, "update": update, "tries": tries, "error": error})
