"""What the jobs of a run ask a cluster for: derived from the size of its model."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from shlex import quote
from typing import Any, Literal

from mdnmt.config.cluster import ClusterConfig, SizeClass
from mdnmt.gpu import count_visible
from mdnmt.planning.state import vocab_sizes
from mdnmt.planning.work import work_of
from mdnmt.studies.places import Places
from mdnmt.studies.study import Run, Study

# What the jobs on tables, scores and task data need, whatever the models.
LIGHT_MEM_MB, LIGHT_MINUTES = 4000, 120


class Jobs:
    """What jobs ask for, by run; sizes are looked up when a job is planned, and once."""

    def __init__(self, cluster: ClusterConfig, study: Study, places: Places, device: str = "auto") -> None:
        self.cluster, self._study = cluster, study
        self._on_cpu = device == "cpu"
        self._vocabs = cache(lambda task: vocab_sizes(study.tasks[task], places)[0])

    def size_of(self, run: Run) -> SizeClass:
        """Return the size class of a run's model."""
        assert run.spec is not None
        domains = len(self._study.tasks[run.task].config.domains)
        work = work_of(run.spec.builder, run.spec.architecture, domains, self._vocabs(run.task))
        return self.cluster.size_of(work.parameters)

    def on_run(
        self, kind: Literal["train", "translate"], find: Callable[[Any], Run], *options: str, least_mem_mb: int = 0
    ) -> dict[str, Callable[[Any], int | str]]:
        """Return the resources of a rule that works on one run: name -> function of the job's wildcards.

        Args:
            kind: whose time is asked for.
            find: returns a job's run.
            options: of sbatch, beside those of the cluster's file.
            least_mem_mb: what the rule needs however small the run's model is.
        """

        def asked(wildcards: Any) -> dict[str, int | str]:
            size = self.size_of(find(wildcards))
            minutes = size.train_minutes if kind == "train" else size.translate_minutes
            return self._asked(max(size.mem_mb, least_mem_mb), minutes, 0 if self._on_cpu else size.gpus, options)

        # The names are the same for all runs, with nothing behind what does not apply: 0, or an empty string.
        empty = {name: type(value)() for gpus in (0, 1) for name, value in self._asked(1, 1, gpus, options).items()}

        def one(name: str) -> Callable[[Any], int | str]:
            return lambda wildcards: asked(wildcards).get(name, empty[name])

        return {name: one(name) for name in empty}

    def light(self, *, minutes: int = LIGHT_MINUTES, mem_mb: int = LIGHT_MEM_MB) -> dict[str, int | str]:
        """Return the resources of a rule that needs no GPU."""
        return self._asked(mem_mb, minutes, 0, ())

    def _asked(self, mem_mb: int, minutes: int, gpus: int, options: tuple[str, ...]) -> dict[str, int | str]:
        request = self.cluster.request(gpus)
        if options:
            request["slurm_extra"] = " ".join((*options, str(request.get("slurm_extra", "")))).strip()
        return {"mem_mb": mem_mb, "runtime": self.cluster.minutes(minutes), **request}


def shell_prefix(cluster: ClusterConfig, in_job: bool) -> str:
    """Return what stands before the command of every rule: the verbs of this environment, activated or not.

    Args:
        cluster: whose modules are loaded.
        in_job: the command runs in a job of the cluster, where SIGTERM reaches all processes of the job at once: the
            shell has to wait for its verb, or the job ends, and with it the verb that is still saving.
    """
    # Snakemake formats the prefix like a command of a rule: braces in a folder's name are doubled for it.
    folder = quote(str(Path(sys.executable).parent)).replace("{", "{{").replace("}", "}}")
    # The prefix takes the place of Snakemake's own, which sets this: a command fails with any part of its pipe.
    path = f"set -o pipefail; export PATH={folder}:$PATH; "
    modules = "".join(f"module load {name}; " for name in cluster.modules)
    return f"trap : TERM; {modules}{path}" if in_job else path


def settle(workflow: Any, device: str) -> None:
    """Set what Snakemake has no option for, or no good default.

    Args:
        workflow: Snakemake's.
        device: of the project's configuration.
    """
    # At home so many jobs with a GPU run at a time as there are GPUs; each takes one of its own (mdnmt.gpu).
    if workflow.local_exec and "gpu" not in workflow.global_resources and (gpus := count_visible(device)):
        workflow.register_resource("gpu", gpus)


def look_only_when_a_job_ends(workflow: Any) -> None:
    """Let Snakemake look for jobs that can start when one has ended, and not every second besides.

    Under a limit on starts a second, which it has unless told otherwise, each look plans another a second later: after
    a thousand jobs a thousand looks a second keep a core busy. No more are started than there are cores or job slots,
    so the default of 100 a second is dropped; a limit that somebody asked for is kept.

    Args:
        workflow: Snakemake's, with its scheduler made: from `onstart` on.
    """
    limiter = getattr(workflow.scheduler, "job_rate_limiter", None)
    if limiter is not None and (limiter.max_jobs, limiter.timespan) == (100, 1):
        workflow.scheduler.job_rate_limiter = None
