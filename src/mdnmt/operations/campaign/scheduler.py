"""Run the jobs of a campaign, several at a time, each in a process of its own, until the time is up."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from pathlib import Path

from mdnmt.errors import EXIT_RESUME
from mdnmt.operations.campaign.jobs import Job, Step

# Imported once in the process that all jobs are forked from: these imports take longer than a small run.
PRELOADED = [
    "mdnmt.train.run", "mdnmt.decode.translator",
    "mdnmt.analysis.model_internals", "mdnmt.score.scores_of_domains", "sacrebleu.metrics", "sacremoses",
]  # fmt: skip
SECONDS_TO_SAVE = 60.0  # a job that is asked to stop saves within this time, or is killed
_ON_DEVICE = ("train", "decode", "analyse", "word-accuracy")

Verb = Callable[[list[str]], int]


def run_jobs(
    jobs: Sequence[Job],
    verb: Verb,
    *,
    at_once: int,
    device: str,
    logs: Path,
    seconds: float | None = None,
    train_options: Sequence[str] = (),
    say: Callable[[str], None] = print,
) -> tuple[list[str], dict[str, str]]:
    """Make jobs in their order, `at_once` at a time; a job whose start is not trained yet is passed over until it is.

    Ctrl-C, SIGTERM and the end of the time stop all jobs: trainings save a checkpoint, other steps are made again by
    the next call. If this process is killed, its jobs stop in the same way.

    Args:
        jobs: the jobs; the steps that are done are skipped.
        verb: runs one command line of `mdnmt` and returns its status; it must be importable by name.
        at_once: number of processes.
        device: of training and translation.
        logs: folder that receives the output of each run.
        train_options: further options of trainings.
        seconds: time after which no job starts and all that are running stop; None: no limit.
        say: receives a line per finished job.

    Returns:
        The addresses of the runs that are complete; and address -> why it failed.
    """
    started = time.monotonic()
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    names = {job.run for job in jobs}
    left, running = [job for job in jobs if not job.is_done], dict[BaseProcess, tuple[Job, float]]()
    done, failed = [job.run for job in jobs if job.is_done], dict[str, str]()
    with _stop_requests() as requested:
        while left or running:
            is_over = requested.is_set() or (seconds is not None and time.monotonic() - started >= seconds)
            if is_over:
                _stop(list(running))
            else:
                for job in [one for one in left if one.after in failed]:
                    left.remove(job)
                    failed[job.run] = f"the run that it starts from failed: {job.after}"
                ready = [one for one in left if one.after not in names or one.after in done]
                for job in ready[: at_once - len(running)]:
                    left.remove(job)
                    steps = [_with_options(step, device, train_options) for step in job.steps]
                    process: BaseProcess = context.Process(target=_work, args=(steps, verb, log_of(logs, job)))
                    process.start()
                    running[process] = (job, time.monotonic())
            if not running:
                break
            # Woken often, because a signal does not end the wait.
            wait([process.sentinel for process in running], timeout=0.2)
            for process in [one for one in running if not one.is_alive()]:
                job, since = running.pop(process)
                process.join()
                if process.exitcode == 0 and job.is_done:
                    done.append(job.run)
                    say(f"[{len(done)}/{len(jobs)}] {job.run}: {time.monotonic() - since:.1f} s")
                elif not is_over and process.exitcode != EXIT_RESUME:
                    failed[job.run] = f"ended with status {process.exitcode}, see {log_of(logs, job)}"
                    say(f"{job.run}: {failed[job.run]}")
    return done, failed


def log_of(logs: Path, job: Job) -> Path:
    """Return the file that receives the output of a job."""
    return logs / f"{job.run.replace('/', '-')}.log"


def _with_options(step: Step, device: str, train_options: Sequence[str]) -> Step:
    # One thread each: processes that share the cores are faster so.
    more = ["--device", device, "--threads", "1"] if step.arguments[0] in _ON_DEVICE else []
    more += train_options if step.arguments[0] == "train" else []
    return step.model_copy(update={"arguments": (*step.arguments, *more)})


def _work(steps: Sequence[Step], verb: Verb, log: Path) -> None:
    """Do the steps of one job; the process ends with the status of the first that fails."""
    os.setsid()  # Ctrl-C reaches the parent alone, which then asks each job once to stop
    parent = multiprocessing.parent_process()
    assert parent is not None
    threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab", buffering=0) as out:
        os.dup2(out.fileno(), 1)
        os.dup2(out.fileno(), 2)
        for step in steps:
            if not step.is_done and (status := verb(list(step.arguments))):
                sys.exit(status)


def _end_with(sentinel: int) -> None:
    """Stop this process as SIGTERM does, which lets a training save, once its parent has gone."""
    wait([sentinel])
    os.kill(os.getpid(), signal.SIGTERM)


def _stop(processes: Sequence[BaseProcess]) -> None:
    """Ask processes to save and end, and kill those that do not in time."""
    for process in processes:
        process.terminate()
    until = time.monotonic() + SECONDS_TO_SAVE
    for process in processes:
        process.join(max(0.0, until - time.monotonic()))
        if process.is_alive():
            process.kill()
            process.join()


@contextmanager
def _stop_requests() -> Iterator[threading.Event]:
    """Yield an event that SIGINT and SIGTERM set; afterwards both do again what they did before."""
    requested = threading.Event()
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in before:
        signal.signal(number, lambda *_: requested.set())
    try:
        yield requested
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
