"""What clusters do to a run, each done to a real one: it ends with the bytes of the run that was left in peace."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable

import psutil
import pytest
from slurm.cluster_project import ClusterProject
from slurm.real_slurm import RealSlurm, until

from mdnmt.train.lease import read_holder

pytestmark = pytest.mark.slow

WATCH = (sys.executable, "-m", "mdnmt.cli", "watch", "--patience", "10", "--every", "3", "--restart", "--")


def made_through(project: ClusterProject, disturb: Callable[[str], object]) -> None:
    """Start the study, disturb the job that trains, and see it end well."""
    process = project.start()
    disturb(project.training_job())
    assert project.finish(process) == 0, project.printed()[-3000:]
    project.assert_same_results()
    assert project.attempts() >= 2


def test_time_limit_of_the_job(project: ClusterProject, slurm: RealSlurm) -> None:
    # A minute a job, and more than a minute of work.
    project.project.environment["SLOW_SECONDS"] = "0.15"
    process = project.start("--set-resources", "train:runtime=1")
    first = project.training_job()
    until(lambda: not (project.run / "lease").exists(), "the first attempt ends", 120)
    # The same job comes back: Snakemake notices nothing, and no retry is spent.
    assert project.training_job() == first
    assert project.finish(process) == 0, project.printed()[-3000:]
    project.assert_same_results()
    assert "Trying to restart" not in project.printed() and project.attempts() >= 2


@pytest.mark.parametrize("name", ["TERM", "USR1"])
def test_signal(project: ClusterProject, slurm: RealSlurm, name: str) -> None:
    made_through(project, lambda job: slurm.call("scancel", f"--signal={name}", job))
    ends = [line for line in (project.run / "metrics.jsonl").read_text().splitlines() if '"end"' in line]
    assert len(ends) == project.attempts(), "an attempt was cut off before it could save"


def test_scancel(project: ClusterProject, slurm: RealSlurm) -> None:
    made_through(project, lambda job: slurm.call("scancel", job))


def test_preemption_by_requeue(project: ClusterProject, slurm: RealSlurm) -> None:
    project.project.update("config/cluster.yaml", partitions__gpu="requeued")
    jobs = []

    def preempt(job: str) -> None:
        jobs.append(job)
        urgent(slurm)

    made_through(project, preempt)
    assert slurm.call("scontrol", "show", "job", jobs[0]).count("Restarts=1") == 1


def test_preemption_by_cancel(project: ClusterProject, slurm: RealSlurm) -> None:
    project.project.update("config/cluster.yaml", partitions__gpu="cancelled")
    process = project.start(before=WATCH)
    job = project.training_job()
    urgent(slurm)
    assert project.finish(process) == 0, project.printed()[-3000:]
    project.assert_same_results()
    assert f"job {job}: Snakemake waits for it, but SLURM reports it as PREEMPTED" in project.printed()


@pytest.mark.parametrize("with_jobs", [True, False], ids=["power-cut", "network-cut"])
def test_node_failure(project: ClusterProject, slurm: RealSlurm, with_jobs: bool) -> None:
    def fail(job: str) -> None:
        node = slurm.node_of(job)
        slurm.kill_node(node, with_jobs=with_jobs)
        try:
            until(lambda: slurm.node_states()[node].startswith("down"), "the node is down")
        finally:
            slurm.start_node(node)

    made_through(project, fail)


def test_controller_down(project: ClusterProject, slurm: RealSlurm) -> None:
    # Half a minute is long enough that Snakemake asks in vain; `make long` makes it two minutes. The plugin changes to
    # sacct then, and never back: without accounting, as here, it waits for ever, and watch starts it again.
    process = project.start(before=WATCH)
    project.training_job()
    slurm.stop_controller()
    try:
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(float(os.environ.get("MDNMT_CONTROLLER_DOWN_SECONDS", "30")))
    finally:
        slurm.start_controller()
    assert project.finish(process) == 0, project.printed()[-3000:]
    project.assert_same_results()


def test_job_that_slurm_forgot(project: ClusterProject, slurm: RealSlurm) -> None:
    process = project.start(before=WATCH)
    job = project.training_job()
    slurm.stop_controller()
    slurm.start_controller("-c")
    assert project.finish(process) == 0, project.printed()[-3000:]
    project.assert_same_results()
    assert f"job {job}: Snakemake waits for it, but SLURM does not know it any more" in project.printed()


def test_snakemake_killed_and_started_again(project: ClusterProject, slurm: RealSlurm) -> None:
    process = project.start()
    first = project.training_job()
    process.send_signal(signal.SIGKILL)
    process.wait()
    holder = read_holder(project.run / "lease")
    assert holder is not None
    # Held still, so that it is there when the second one comes, however slow the machine.
    trainer = psutil.Process(holder.pid)
    trainer.suspend()
    try:
        # As somebody does it who knows nothing of the job that is still at work.
        project.project.snakemake("--unlock", "--cores", "1")
        again = project.start()
        until(lambda: f"Dependency=afterany:{first}" in waiting_job(slurm), "the second job waits for the first", 300)
    finally:
        trainer.resume()
    assert project.finish(again) == 0, project.printed()[-3000:]
    project.assert_same_results()
    assert "Trying to restart" not in project.printed(), "a refused job costs no retry"


def test_mistake_of_a_user_is_not_repeated_for_ever(project: ClusterProject, slurm: RealSlurm) -> None:
    # Data cut short after it was made: no attempt can do anything about it.
    [array] = sorted(project.folder.glob("results/tasks/*/train.*.npy"))[:1]
    array.write_bytes(array.read_bytes()[:-40])
    process = project.start()
    assert project.finish(process) != 0
    printed = project.printed()
    assert "no progress beyond update 0 in 3 attempts" in printed and "the last ended with:" in printed
    assert not (project.run / "model.safetensors").exists()
    assert len([one for one in slurm.jobs().values() if one[1].startswith("rule_train")]) >= 4


def urgent(slurm: RealSlurm) -> None:
    """Take both nodes away for a moment from all whose partition may be preempted."""
    slurm.call(
        "sbatch", "--partition=urgent", "--nodes=2", "--exclusive", "--output=/dev/null", "--wrap", "true", "--wait"
    )


def waiting_job(slurm: RealSlurm) -> str:
    """Return what SLURM knows of the job that waits in the queue to train."""
    job = slurm.job("rule_train", "PENDING")
    return slurm.call("scontrol", "show", "job", job, check=False) if job else ""
