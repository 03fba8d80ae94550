"""The state of all runs and jobs, and where Snakemake and SLURM disagree."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from mdnmt.extras.watch.slurm_jobs import SlurmJob, slurm_jobs
from mdnmt.extras.watch.snakemake_log import StartState, newest_log, read_start_state
from mdnmt.operations.progress.run_states import RunState, duration, run_states
from mdnmt.operations.snakemake_locks import running_snakemake


@dataclass(frozen=True)
class Overview:
    """A snapshot of a project's runs and jobs.

    Attributes:
        runs: the runs.
        jobs: SLURM's jobs by number; None: there is no SLURM, or it does not answer.
        snakemake: a description of the Snakemake process at work here; None: there is none.
        last_start: what the log of the last start of Snakemake says; None: there is no log.
    """

    runs: list[RunState]
    jobs: dict[str, SlurmJob] | None
    snakemake: str | None
    last_start: StartState | None

    @property
    def lost(self) -> dict[str, str]:
        """Return job -> its state in SLURM, for jobs that Snakemake waits for although they ended or SLURM forgot them.

        Snakemake polls at least every three minutes, so only a job that is still listed after that time is really lost.
        """
        if self.snakemake is None or self.last_start is None or self.jobs is None:
            return {}
        states = {job: self.jobs[job].state if job in self.jobs else None for job in self.last_start.waiting}
        return {
            job: f"SLURM reports it as {state} (Snakemake polls every three minutes)"
            if state
            else "SLURM does not know it any more"
            for job, state in states.items()
            if state is None or not self.jobs[job].is_alive
        }

    @property
    def orphans(self) -> dict[str, SlurmJob]:
        """Return the pending and running SLURM jobs that no Snakemake waits for."""
        waiting = self.last_start.waiting if self.last_start is not None and self.snakemake is not None else {}
        return {number: job for number, job in (self.jobs or {}).items() if job.is_alive and number not in waiting}

    def disagreements(self) -> list[str]:
        """Return a line for each job on which Snakemake and SLURM disagree, and for each run that has several jobs."""
        lines = [f"job {job}: Snakemake waits for it, but {what}" for job, what in self.lost.items()]
        lines += [
            f"job {number} ({job.comment}): {job.state} in SLURM, but no Snakemake waits for it"
            for number, job in self.orphans.items()
        ]
        by_run: dict[str, list[str]] = {}
        for number, job in (self.jobs or {}).items():
            if job.run is not None and job.state == "RUNNING":
                by_run.setdefault(job.run, []).append(number)
        for run, numbers in by_run.items():
            if len(numbers) > 1:
                lines.append(f"{run}: {len(numbers)} jobs run for it ({', '.join(numbers)}); only one can train")
        return lines


def read_overview(folder: Path, updates: dict[str, int | None]) -> Overview:
    """Return the state of all runs and jobs of a project's folder.

    Args:
        folder: the project's folder.
        updates: name of a run -> its maximum number of updates; None: not known.
    """
    log = newest_log(folder)
    return Overview(
        runs=run_states(folder, updates),
        jobs=slurm_jobs(folder),
        snakemake=running_snakemake(folder),
        last_start=read_start_state(log) if log else None,
    )


def overview_text(view: Overview) -> str:
    """Return an overview as text."""
    rows: list[tuple[str, ...]] = [("run", "state", "updates", "left", "attempts", "held by", "SLURM")]
    rows += [_row(run, view.jobs or {}) for run in view.runs]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    lines += [f"  {run.name}: the last attempt ended with: {run.error}" for run in view.runs if run.error]
    done = sum(run.state == "done" for run in view.runs)
    waiting = view.last_start.waiting if view.snakemake and view.last_start else {}
    waits = f", waits for {_num_jobs(len(waiting))}" if waiting else ""
    slurm = (
        "SLURM does not answer here"
        if view.jobs is None
        else f"{_num_jobs(sum(job.is_alive for job in view.jobs.values()))} in SLURM"
    )
    lines.append(f"{done} of {len(view.runs)} runs done; {view.snakemake or 'no snakemake'} at work{waits}; {slurm}")
    lines += [f"disagreement: {line}" for line in view.disagreements()]
    return "\n".join(lines)


def _row(run: RunState, jobs: dict[str, SlurmJob]) -> tuple[str, ...]:
    own = [f"{number} {job.state}" for number, job in jobs.items() if job.run == run.name and job.is_alive]
    updates = f"{run.update}/{run.updates}" if run.updates is not None else str(run.update)
    left = "" if run.seconds_left is None else duration(run.seconds_left)
    return run.name, run.state, updates, left, str(run.attempts), run.holder or "", ", ".join(own)


def _num_jobs(jobs: int) -> str:
    return "1 job" if jobs == 1 else f"{jobs} jobs"
