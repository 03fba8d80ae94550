"""Keep a Snakemake going: stop it where it waits for what will never come, and start it again until all is made."""

from __future__ import annotations

import select
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from mdnmt.operations.watch.overview import Overview
from mdnmt.operations.watch.slurm_jobs import cancel
from mdnmt.studies.snakemake_locks import locks, open_locks
from mdnmt.train.attempts import Call
from mdnmt.train.attempts import call as run_command


@dataclass
class Supervisor:
    """Runs a Snakemake command in a project's folder to its good end.

    A job is lost when Snakemake waits for it although SLURM has ended or forgotten it, and that for `patience_seconds`,
    in which Snakemake would have noticed of itself. Only where every job that it waits for is lost is it stopped: while
    others go on, it has something to do, and stopping it would send them a second time. It is killed, for Ctrl-C would
    cancel its jobs. Before it is started again, jobs that nobody waits for are seen off: those not yet begun are
    cancelled, the others may end.

    Attributes:
        command: starts Snakemake.
        folder: the project's.
        look: returns what is going on.
        patience_seconds: more than the three minutes that lie between two looks of Snakemake at its jobs at the most.
        every_seconds: between two looks of ours.
        most_starts: after so many it gives up.
        say: tells a person what was done.
        run: runs a command of SLURM.
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
        """Return the status of the last start: 0 where all is made."""
        status = 1
        for start in range(1, self.most_starts + 1):
            self._see_orphans_off()
            open_locks(locks(self.folder))
            before, view = self._made(), self.look()
            last_log = view.last_start.log if view.last_start is not None else None
            process = subprocess.Popen(self.command, cwd=self.folder)
            status = self._follow(process, last_log)
            if status == 0:
                return 0
            if status in (-signal.SIGINT, 128 + signal.SIGINT, -signal.SIGTERM):
                return status  # somebody stopped it who wants it to end
            stopped = status == -signal.SIGKILL
            view = self.look()
            unsent = view.last_start is not None and view.last_start.failed_submissions > 0
            if not stopped and not unsent and self._made() == before:
                self.say(f"snakemake ended with status {status}, and nothing was made: see its last lines")
                return status
            self.say(f"start {start} ended with status {status}; starting again")
        return status

    def _follow(self, process: subprocess.Popen[bytes], last_log: Path | None) -> int:
        """Look after one start until its end; `last_log` is that of the start before."""
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
        """Return the lost jobs where all that Snakemake waits for is lost, and for long."""
        now = time.monotonic()
        self._lost_since = {job: self._lost_since.get(job, now) for job in view.lost}
        waiting = view.last_start.waiting if view.last_start is not None else {}
        long = [job for job, since in self._lost_since.items() if now - since >= self.patience_seconds]
        return long if long and len(long) == len(waiting) else []

    def _see_orphans_off(self) -> None:
        announced = False
        while orphans := self.look().orphans:
            cancel([number for number, job in orphans.items() if job.state == "PENDING"], run=self.run)
            if not announced:
                self.say(f"waiting for {len(orphans)} jobs that another start of Snakemake has sent")
                announced = True
            _pause(self.every_seconds)

    def _made(self) -> int:
        """Return how many runs are done, and how many updates made: what says that a start was of use."""
        return sum(run.update + (run.state == "done") for run in self.look().runs)


def _pause(seconds: float) -> None:
    select.select([], [], [], seconds)
