"""Resources of jobs (memory, time, GPUs, SLURM options), derived from the size of each run's model."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from shlex import quote
from typing import Any

from mdnmt.config.cluster import ClusterConfig, SizeClass
from mdnmt.gpu import count_visible
from mdnmt.operations.plan.existing_results import vocab_sizes
from mdnmt.operations.plan.expected_updates import expected_updates
from mdnmt.operations.plan.model_work import Work, work_of
from mdnmt.studies.result_paths import ResultPaths
from mdnmt.studies.study import Run, Study

Find = Callable[[Any], Run]  # the wildcards of a job -> its run
Of = Callable[[Any], int]  # the wildcards of a job -> the value of a resource


class Jobs:
    """Resources of the workflow's jobs, from the size of each run's model and from config/cluster.yaml."""

    def __init__(self, cluster: ClusterConfig, study: Study, places: ResultPaths, device: str = "auto") -> None:
        self._cluster, self._study = cluster, study
        self._places = places
        self._on_cpu = device == "cpu"
        self._vocabs = cache(lambda task: vocab_sizes(study.tasks[task], places)[0])

    def size_of(self, run: Run) -> SizeClass:
        """Return the size class of a run's model."""
        return self._cluster.size_of(self._work_of(run).parameters)

    def training_priority(self, run: Run) -> float:
        """Return Snakemake's priority of a training: between -1 and 0, higher for more work.

        The longest training starts first, so that it does not run alone at the end. Every other job has priority 0 and
        comes before a new training, so results appear as early as possible.
        """
        assert run.spec is not None
        task = self._study.tasks[run.task].config
        updates = expected_updates(run.spec, task, Path(self._places.task(run.task)))
        operations = self._work_of(run).of_update(run.spec.training) * updates
        return -1 / (1 + operations / 1e12)

    def memory(self, find: Find, least: int = 0) -> Of:
        """Return the resource `mem_mb` of a rule, in MB: main memory for the run that `find` returns for a job."""
        return lambda wildcards: max(self.size_of(find(wildcards)).mem_mb, least)

    def minutes(self, wanted: int) -> int:
        """Return the time limit of a job in minutes, capped at the longest that the cluster allows."""
        return self._cluster.minutes(wanted)

    def time_to_train(self, find: Find) -> Of:
        """Return the resource `runtime` of the rule that trains, in minutes; a longer training takes several jobs."""
        return lambda wildcards: self.minutes(self.size_of(find(wildcards)).train_minutes)

    def time_to_translate(self, find: Find) -> Of:
        """Return the resource `runtime` of a rule that translates with a run's model or analyses it, in minutes."""
        return lambda wildcards: self.minutes(self.size_of(find(wildcards)).translate_minutes)

    def gpu(self, find: Find) -> Of:
        """Return the resource `gpu` of a rule; 0 where `sbatch` asks for GPUs with `--gres` (see `sbatch`)."""
        by_gres = self._cluster.ask_for_gpus_by == "gres"
        return lambda wildcards: 0 if by_gres else self._gpus(find(wildcards))

    @property
    def device(self) -> str:
        """Return "cuda" if a job of the study asks for a GPU, else "cpu"."""
        return "cuda" if any(self._gpus(run) for run in self._study.makeable()) else "cpu"

    def sbatch(self, find: Callable[[Any], Run] | None = None, *options: str) -> dict[str, Any]:
        """Return the remaining resources of a rule, which only SLURM reads: account, partition, QOS, GPU model.

        Args:
            find: returns the run of a job's wildcards; None for a rule that needs no GPU.
            options: options of `sbatch` in addition to those in config/cluster.yaml.
        """
        if find is None:
            return self._request(0, options)
        # A rule cannot add or drop a resource for a single job, so a resource that does not apply has an empty value.
        empty = {name: type(value)() for gpus in (0, 1) for name, value in self._request(gpus, options).items()}

        def value_of(name: str) -> Callable[[Any], int | str]:
            return lambda wildcards: self._request(self._gpus(find(wildcards)), options).get(name, empty[name])

        return {name: value_of(name) for name in empty}

    def _work_of(self, run: Run) -> Work:
        assert run.spec is not None
        domains = len(self._study.tasks[run.task].config.domains)
        return work_of(run.spec.builder, run.spec.architecture, domains, self._vocabs(run.task))

    def _gpus(self, run: Run) -> int:
        return 0 if self._on_cpu else self.size_of(run).gpus

    def _request(self, gpus: int, options: tuple[str, ...]) -> dict[str, int | str]:
        request = {name: value for name, value in self._cluster.request(gpus).items() if name != "gpu"}
        if options:
            request["slurm_extra"] = " ".join((*options, str(request.get("slurm_extra", "")))).strip()
        return request


def shell_prefix(cluster: ClusterConfig, in_job: bool) -> str:
    """Return the shell code before the command of every rule; it finds `mdnmt` without an activated environment.

    Args:
        cluster: the cluster, whose modules are loaded if the command runs in a job.
        in_job: the command runs in a job of the cluster, where SIGTERM reaches all processes of the job at once: the
            shell has to wait for `mdnmt`, or the job ends while `mdnmt` is still saving.
    """
    # Snakemake formats the prefix like a rule's command, so braces in a folder's name must be doubled.
    folder = quote(str(Path(sys.executable).parent)).replace("{", "{{").replace("}", "}}")
    # This prefix replaces Snakemake's own, which sets pipefail: a command fails if any part of its pipe fails.
    path = f"set -o pipefail; export PATH={folder}:$PATH; "
    modules = "".join(f"module load {name}; " for name in cluster.modules)
    return f"trap : TERM; {modules}{path}" if in_job else path


def is_on_cluster(workflow: Any) -> bool:
    """Say whether jobs are submitted, or this is one of them.

    While Snakemake reads the Snakefile, it does not say which executor it will use (`local_exec` is true), and in a dry
    run it never does. But profiles of clusters give jobs default resources, and others do not.
    """
    return bool(workflow.remote_exec or workflow.resource_settings.default_resources)


def set_defaults(workflow: Any, device: str) -> None:
    """Set defaults that Snakemake lacks.

    Here, as many GPU jobs run at a time as there are GPUs. A dry run for a cluster shows what jobs ask for.

    Args:
        workflow: Snakemake's workflow.
        device: the device in the project's configuration.
    """
    if not is_on_cluster(workflow):
        # Each job takes a GPU of its own (mdnmt.gpu).
        if "gpu" not in workflow.global_resources and (gpus := count_visible(device)):
            workflow.register_resource("gpu", gpus)
    elif workflow.output_settings.dryrun:
        logging.getLogger("snakemake.logging").addFilter(partial(_with_request, workflow))


def _with_request(workflow: Any, record: logging.LogRecord) -> bool:
    """Add what a job asks for to its message: Snakemake shows the resources only of rules that have none."""
    job = vars(record)
    if job.get("rule_msg"):
        is_here = job["rule_name"] in workflow._localrules
        job["rule_msg"] += f" [{'on this machine' if is_here else request_text(job['resources'])}]"
    return True


def request_text(resources: Mapping[str, Any]) -> str:
    """Return GPU, memory, time and partition of a job in words: "1 GPU (a100), 16000 MB, 720 min, partition gpu"."""
    gpu, model = resources.get("gpu") or "no", resources.get("gpu_model")
    gpus = resources.get("gres") or f"{gpu} GPU{f' ({model})' if model else ''}"
    partition = resources.get("slurm_partition") or "by default"
    return f"{gpus}, {resources['mem_mb']} MB, {resources['runtime']} min, partition {partition}"


def look_only_when_a_job_ends(workflow: Any) -> None:
    """Remove Snakemake's default limit of 100 started jobs per second; a limit that a user asked for is kept.

    Under such a limit, each pass of the scheduler over all jobs that starts some sets a timer for another pass one
    second later. These timers never end: after a thousand jobs, a thousand passes per second keep a core busy. Without
    a limit, a pass happens only when a job has ended. Cores and job slots still bound how many jobs start.

    This needs a private attribute, `workflow.scheduler.job_rate_limiter` of `JobScheduler`, because the option
    `--max-jobs-per-timespan` has a default and no value that means "no limit". Upstream should accept such a value, or
    keep at most one timer in `JobScheduler._schedule_reevalutation`; then this function can go. Without the attribute
    nothing is changed.

    Args:
        workflow: the workflow after its scheduler was created, that is, in `onstart` or later.
    """
    limiter = getattr(workflow.scheduler, "job_rate_limiter", None)
    if limiter is not None and (limiter.max_jobs, limiter.timespan) == (100, 1):
        workflow.scheduler.job_rate_limiter = None
