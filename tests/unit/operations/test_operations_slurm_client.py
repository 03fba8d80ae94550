"""What the SLURM plugin calls is checked before it submits; what fails while it submits is not lost."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from snakemake_executor_plugin_slurm import Executor as PluginExecutor  # calls `which`, so before PATH is changed

from mdnmt.config.cluster import ClusterConfig, Partitions
from mdnmt.errors import ConfigError
from mdnmt.operations.plan.slurm_client import report_errors, require_slurm

BASIC = ("sbatch", "squeue", "scancel", "sinfo")


class Executor:
    """Submits in a thread and never looks at the result, as the plugin does."""

    def __init__(self) -> None:
        self.pool, self.errors = ThreadPoolExecutor(1), list[tuple[Any, str]]()

    def run_job(self, job: str) -> None:
        raise FileNotFoundError(2, "No such file or directory", "sacct")

    run_array_jobs = run_job

    def _report_job_error_threadsafe(self, info: Any, message: str) -> None:
        self.errors.append((info.job, message))


def workflow(name: str | None = "slurm") -> Any:
    plugin = None if name is None else SimpleNamespace(name=name)
    return SimpleNamespace(executor_plugin=plugin, scheduler=SimpleNamespace(_executor=Executor()))


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def add(folder: Path, *names: str, prints: str = "") -> None:
    for name in names:
        (folder / name).write_text(f"#!/bin/sh\necho '{prints}'\n")
        (folder / name).chmod(0o755)


def test_missing_commands_are_named_and_only_those_that_are_called(programs: Path) -> None:
    with pytest.raises(ConfigError, match="found no sbatch, squeue, scancel, sacct, sinfo on the PATH"):
        require_slurm(workflow(), ClusterConfig())
    add(programs, *BASIC[:3])
    with pytest.raises(ConfigError, match="found no sacctmgr on the PATH"):
        require_slurm(workflow(), ClusterConfig(account="nlp", partitions=Partitions(cpu="c", gpu="g")))
    add(programs, "sinfo", "sacct")
    require_slurm(workflow(), ClusterConfig())
    for other in ("local", "lsf", None):
        require_slurm(workflow(other), ClusterConfig(account="nlp"))


def test_an_account_is_checked_before_anything_is_submitted(programs: Path) -> None:
    cluster = ClusterConfig(account="nlp")
    add(programs, *BASIC)
    add(programs, "sacctmgr", prints=" nlp ")
    require_slurm(workflow(), cluster)
    add(programs, "sacctmgr", prints=" other ")
    with pytest.raises(ConfigError, match=r"account: 'nlp' is refused by SLURM: .*other"):
        require_slurm(workflow(), cluster)
    add(programs, "sacctmgr", prints="")
    with pytest.raises(ConfigError, match="found no sshare on the PATH"):
        require_slurm(workflow(), cluster)


@pytest.mark.parametrize(("method", "jobs"), [("run_job", "a"), ("run_array_jobs", ["a", "b"])])
def test_an_error_in_the_thread_that_submits_is_an_error_of_the_job(method: str, jobs: Any) -> None:
    executor = Executor()
    report_errors(executor)
    executor.pool.submit(getattr(executor, method), jobs).result()
    assert [job for job, _ in executor.errors] == list(jobs)
    assert "not submitted to SLURM: FileNotFoundError: " in executor.errors[0][1]


def test_the_plugin_still_has_what_is_patched() -> None:
    assert callable(PluginExecutor._report_job_error_threadsafe), "report_errors calls it"
    assert callable(PluginExecutor.run_job), "report_errors replaces it"
    assert callable(PluginExecutor.run_array_jobs), "report_errors replaces it"
