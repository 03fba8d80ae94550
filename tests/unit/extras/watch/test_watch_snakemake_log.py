"""What a Snakemake believes, read off its log."""

from __future__ import annotations

from pathlib import Path

from mdnmt.extras.watch.snakemake_log import newest_log, read_start_state

LOG = """\
Building DAG of jobs...
SLURM run ID: a68b7d47
Job 19 has been submitted with SLURM jobid 2 (log: rule_train/2.log).
Job 9 has been submitted with SLURM jobid 3 (log: rule_train/3.log).
Job 5 has been submitted with SLURM jobid 4 (log: rule_train/4.log).
Job 77 has been submitted with SLURM jobid 5 (log: group_translations/5.log).
[Fri Nov 20 21:42:16 2026]
Finished jobid: 9 (Rule: train)
Error in rule train:
    message: SLURM-job '4' failed, SLURM status is: 'CANCELLED'.
    jobid: 5
    external_jobid: 4
Trying to restart job 5.
Job 5 has been submitted with SLURM jobid 6 (log: rule_train/6.log).
Error in rule train:
    message: SLURM sbatch failed. The error message was 'sbatch: error: Unable to contact slurm controller'.
"""


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / ".snakemake" / "log" / f"{name}.snakemake.log"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_what_is_waited_for(tmp_path: Path) -> None:
    last_start = read_start_state(write(tmp_path, "2026", LOG))
    # Sent, and neither finished nor failed; the failed one was sent again under another number.
    assert last_start.waiting == {"2": "19", "5": "77", "6": "5"}
    assert last_start.failed_submissions == 1


def test_newest_that_sent_jobs(tmp_path: Path) -> None:
    assert newest_log(tmp_path) is None
    dry = write(tmp_path, "2026-11-22", "Building DAG of jobs...\n")
    assert newest_log(tmp_path) == dry
    write(tmp_path, "2026-11-20", LOG)
    sender = write(tmp_path, "2026-11-21", LOG)
    assert newest_log(tmp_path) == sender
