"""Run Snakemake until everything is made: restart it if it stops, or if it waits for jobs that are lost."""

from __future__ import annotations

import select
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from mdnmt.extras.watch.overview import Overview
from mdnmt.operations.snakemake_locks import locks, remove_locks
from mdnmt.train.attempts import Call
from mdnmt.train.attempts import call as run_command


@dataclass
class Supervisor:
    """Runs a Snakemake command in a project's folder until it succeeds.

    A job is lost if Snakemake still waits for it `patience_seconds` after SLURM ended or forgot it; by then Snakemake
    should have noticed. Snakemake is stopped only if all jobs that it waits for are lost: stopping it earlier would
    submit the others a second time. It is killed, because Ctrl-C would cancel its jobs. Before it is started again,
    jobs that no Snakemake waits for are cleared: pending ones are cancelled, running ones may finish.

    Attributes:
        command: starts Snakemake.
        folder: the project's folder.
        look: returns the state of all runs and jobs.
        patience_seconds: must exceed three minutes, the longest interval at which Snakemake polls its jobs.
        every_seconds: interval between two looks.
        most_starts: the number of starts after which it gives up.
        say: called with messages for the user.
        run: runs a SLURM command.
    """

    command: list[str]
    folder: Path
    look: Callable[[], Overview]
    patience_seconds: float = 240.0
    every_seconds: float = 30.0
    most_starts: int = 20
    say: Callable[[str], None] = print
    run: Call = run_command
    _lost_since: dict[str, float] = field(default_factory=dict)

    def __call__(self) -> int:
        """Return the exit status of the last start: 0 if everything is made."""
        status = 1
        for start in range(1, self.most_starts + 1):
            self._see_orphans_off()
            remove_locks(locks(self.folder))
            before, view = self._made(), self.look()
            last_log = view.last_start.log if view.last_start is not None else None
            process = subprocess.Popen(self.command, cwd=self.folder)
            status = self._follow(process, last_log)
            if status == 0:
                return 0
            if status in (-signal.SIGINT, 128 + signal.SIGINT, -signal.SIGTERM):
                return status  # the user stopped it
            stopped = status == -signal.SIGKILL
            view = self.look()
            unsent = view.last_start is not None and view.last_start.failed_submissions > 0
            if not stopped and not unsent and self._made() == before:
                self.say(f"snakemake ended with status {status}, and nothing was made: see its last lines")
                return status
            self.say(f"start {start} ended with status {status}; starting again")
        return status

    def _follow(self, process: subprocess.Popen[bytes], last_log: Path | None) -> int:
        """Supervise one start until it ends; `last_log` is the log of the previous start."""
        self._lost_since.clear()
        while process.poll() is None:
            view = self.look()
            is_its_own = view.last_start is not None and view.last_start.log != last_log
            if is_its_own and (lost := self._long_lost(view)):
                for job in lost:
                    self.say(f"job {job}: Snakemake waits for it, but {view.lost[job]}")
                self.say("snakemake waits for nothing else: stopping it")
                process.kill()
                return process.wait()
            _pause(self.every_seconds)
        return process.returncode

    def _long_lost(self, view: Overview) -> list[str]:
        """Return the lost jobs if Snakemake waits for no others and all have been lost for long enough; else none."""
        now = time.monotonic()
        self._lost_since = {job: self._lost_since.get(job, now) for job in view.lost}
        waiting = view.last_start.waiting if view.last_start is not None else {}
        long = [job for job, since in self._lost_since.items() if now - since >= self.patience_seconds]
        return long if long and len(long) == len(waiting) else []

    def _see_orphans_off(self) -> None:
        announced = False
        while orphans := self.look().orphans:
            if pending := [number for number, job in orphans.items() if job.state == "PENDING"]:
                self.run(["scancel", *pending])
            if not announced:
                self.say(f"waiting for {len(orphans)} jobs that an earlier start of Snakemake submitted")
                announced = True
            _pause(self.every_seconds)

    def _made(self) -> int:
        """Return a count of finished runs and updates, which grows if a start made progress."""
        return sum(run.update + (run.state == "done") for run in self.look().runs)


def _pause(seconds: float) -> None:
    select.select([], [], [], seconds)
