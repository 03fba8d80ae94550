"""The jobs of a project, as SLURM reports them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from mdnmt.train.attempts import Call, call

# Job, state, comment (rule and wildcards), folder.
_FORMAT = "%i|%T|%k|%Z"
# States of jobs that have not ended or will come back; all other states are final.
_ALIVE = (
    "PENDING RUNNING CONFIGURING COMPLETING SUSPENDED REQUEUED REQUEUE_HOLD REQUEUE_FED RESIZING SIGNALING STAGE_OUT "
    "STOPPED SPECIAL_EXIT"
)
# "rule_train_wildcards_<task>_<method>_<seed>_<hash>"; no wildcard has an underscore. A workflow that imports ours may
# put a prefix before the rule's name.
_OF_RUN = re.compile(r"rule_(?:\w+_)?train_wildcards_([^_]+)_([^_]+)_(\d+)_([0-9a-f]{8})")


@dataclass(frozen=True)
class SlurmJob:
    """A job as squeue shows it."""

    job: str
    state: str
    comment: str

    @property
    def is_alive(self) -> bool:
        """Say whether it runs or will run."""
        return self.state in _ALIVE.split()

    @property
    def run(self) -> str | None:
        """Return the name of the run that it trains; None: it does something else, or its run is not known.

        All tasks of a job array carry the comment of the first, so their runs are not known.
        """
        if "_" in self.job:
            return None
        found = _OF_RUN.fullmatch(self.comment)
        return f"{found[1]}/{found[2]}/seed{found[3]}-{found[4]}" if found else None


def slurm_jobs(folder: Path, *, run: Call = call) -> dict[str, SlurmJob] | None:
    """Return the jobs that Snakemake submitted from a folder, by number; ended ones too while SLURM remembers them.

    None: there is no SLURM here, or it does not answer.
    """
    printed = run(["squeue", "--noheader", "--array", "--states=all", f"--format={_FORMAT}"])
    if printed is None:
        return None
    jobs = {}
    for line in printed.splitlines():
        fields = line.split("|", 3)
        if len(fields) == 4 and fields[3] == str(folder.resolve()) and fields[2].startswith(("rule_", "group_")):
            jobs[fields[0]] = SlurmJob(*fields[:3])
    return jobs
