"""Check, before anything is submitted, what Snakemake's SLURM plugin calls; report what fails while it submits.

The plugin (2.6.1) submits in threads and never looks at their results: an exception there, because a command is missing
or an account is refused, is lost, and Snakemake waits for a job that was not submitted.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from typing import Any

from mdnmt.config.cluster import ClusterConfig
from mdnmt.errors import ConfigError


def commands_called(cluster: ClusterConfig) -> list[str]:
    """Return the commands of SLURM that the plugin cannot do without, on the machine where Snakemake runs."""
    partitions = cluster.partitions
    found = ["sbatch", "squeue", "scancel"]
    found += ["sacctmgr"] if cluster.account else ["sacct"]  # checks the account, or guesses it from earlier jobs
    found += [] if partitions.cpu and partitions.gpu else ["sinfo"]  # finds the default partition
    return found


def require_slurm(workflow: Any, cluster: ClusterConfig) -> None:
    """Check the commands and the account of a run on SLURM, and report errors of its later submissions.

    Args:
        workflow: Snakemake's workflow after its scheduler was created, that is, in `onstart` or later.
        cluster: what config/cluster.yaml says.

    Raises:
        ConfigError: a command of SLURM is missing, or SLURM does not know the account.
    """
    if getattr(workflow.executor_plugin, "name", None) != "slurm":
        return
    if missing := [name for name in commands_called(cluster) if shutil.which(name) is None]:
        raise _missing(missing)
    if cluster.account:
        _require_account(cluster.account)
    report_errors(workflow.scheduler._executor)


def _missing(commands: Sequence[str]) -> ConfigError:
    return ConfigError(
        f"SLURM: found no {', '.join(commands)} on the PATH of this machine, expected what the SLURM profile calls "
        "(docs/clusters.md); start it on a login node, after `module load slurm` if your cluster needs that"
    )


def _require_account(account: str) -> None:
    import logging

    # The plugin's own check, here in the main thread, whose errors are not lost.
    from snakemake_executor_plugin_slurm.accounts import test_account
    from snakemake_interface_common.exceptions import WorkflowError

    try:
        test_account(account, logging.getLogger(__name__))
    except FileNotFoundError as error:  # `sshare`, called where `sacctmgr` prints nothing
        raise _missing([str(error.filename)]) from None
    except WorkflowError as error:
        said = " ".join(str(error).split())
        raise ConfigError(f"config/cluster.yaml: account: {account!r} is refused by SLURM: {said}") from None


def report_errors(executor: Any) -> None:
    """Make the plugin report an exception while it submits as an error of the job, which the profile retries.

    This needs private attributes. Upstream should look at the futures of `_job_submission_executor`; then this can go.

    Args:
        executor: of the SLURM plugin.
    """

    def reporting(submit: Callable[[Any], None]) -> Callable[[Any], None]:
        from snakemake_interface_executor_plugins.executors.base import SubmittedJobInfo

        def submit_or_report(jobs: Any) -> None:
            try:
                submit(jobs)
            except Exception as error:  # whatever it is, nobody else would see it
                what = f"not submitted to SLURM: {type(error).__name__}: {error}. "
                for job in jobs if isinstance(jobs, list) else [jobs]:
                    executor._report_job_error_threadsafe(SubmittedJobInfo(job), what)

        return submit_or_report

    for name in ("run_job", "run_array_jobs"):
        setattr(executor, name, reporting(getattr(executor, name)))
