"""The jobs that a running Snakemake waits for, read from its log in .snakemake/log."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

_START = re.compile(r"^SLURM run ID: ", re.MULTILINE)
_SENT = re.compile(r"^Job (\d+) has been submitted with SLURM jobid (\d+)")
# "Finished jobid: 3 (Rule: train)"; of a group "Finished jobids: 3, 4". An error names SLURM's job number.
_FINISHED = re.compile(r"^Finished jobids?: ([\d, ]+)")
_FAILED = re.compile(r"^\s+external_jobid: (\d+)")
_SUBMISSION_FAILED = "SLURM sbatch failed"


@dataclass(frozen=True)
class StartState:
    """What the log of one start of Snakemake says.

    Attributes:
        log: the log file.
        waiting: SLURM's job number -> Snakemake's, of submitted jobs that are not reported as finished or failed.
        failed_submissions: how often sbatch failed.
    """

    log: Path
    waiting: dict[str, str]
    failed_submissions: int


def newest_log(folder: Path) -> Path | None:
    """Return the log of the last start of Snakemake in a folder; None: there was none.

    A dry run leaves a log as well, so the log of a start under SLURM is preferred to a newer one without.
    """
    logs = sorted((folder / ".snakemake" / "log").glob("*.snakemake.log"), reverse=True)
    return next((log for log in logs if _START.search(_head(log))), logs[0] if logs else None)


def read_start_state(log: Path) -> StartState:
    """Return what a log says."""
    waiting: dict[str, str] = {}
    failed_submissions = 0
    for line in log.read_text(encoding="utf-8", errors="replace").splitlines():
        if found := _SENT.match(line):
            waiting[found[2]] = found[1]
        elif found := _FINISHED.match(line):
            done = {number.strip() for number in found[1].split(",")}
            waiting = {job: number for job, number in waiting.items() if number not in done}
        elif found := _FAILED.match(line):
            waiting.pop(found[1], None)
        elif _SUBMISSION_FAILED in line:
            failed_submissions += 1
    return StartState(log, waiting, failed_submissions)


def _head(log: Path) -> str:
    with log.open(encoding="utf-8", errors="replace") as lines:
        return "".join(line for line, _ in zip(lines, range(200), strict=False))
