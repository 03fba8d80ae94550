"""A project whose study trains one run, long enough to be disturbed, through the real plugin on a real SLURM."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from slurm.real_slurm import RealSlurm, until
from workflow.snakemake_project import Project

from mdnmt.train.lease import read_holder
from mdnmt.train.metrics_log import read_metrics

UPDATES = 600
PROFILE = ("--profile", "workflow/profiles/slurm", "--slurm-init-seconds-before-status-checks", "5")
# Slows each update down, by as much as the environment says: a fault has to find the run at work.
SLOWLY = """
import os, sys, threading, time
def wrap():
    while not hasattr(sys.modules.get("mdnmt.train.trainer"), "Trainer"):
        time.sleep(0.002)
    trainer = sys.modules["mdnmt.train.trainer"].Trainer
    update = trainer._update
    def slowly(self, *arguments, **options):
        time.sleep(float(os.environ["SLOW_SECONDS"]))
        return update(self, *arguments, **options)
    trainer._update = slowly
if "train" in sys.argv[1:2] and "SLOW_SECONDS" in os.environ:
    threading.Thread(target=wrap, daemon=True).start()
"""
# The plugin looks ten seconds later each time that no job has ended, and has no option for it. With one job at a time,
# and faults that take minutes, the tests would wait for it most of the time: here it looks every few seconds.
OFTEN = """
def look_often():
    while not hasattr(sys.modules.get("snakemake_executor_plugin_slurm"), "Executor"):
        time.sleep(0.002)
    plugin = sys.modules["snakemake_executor_plugin_slurm"].Executor
    plugin.next_seconds_between_status_checks = property(lambda self: 3, lambda self, seconds: None)
if "snakemake" in sys.orig_argv and "SLURM_JOB_ID" not in os.environ:
    threading.Thread(target=look_often, daemon=True).start()
"""


class ClusterProject:
    """A copy of the workflow, and Snakemake with the SLURM profile in it."""

    def __init__(self, project: Project, slurm: RealSlurm | None = None) -> None:
        self.project, self.folder, self.slurm = project, project.folder, slurm
        self._started: list[subprocess.Popen[bytes]] = []
        if slurm is not None:
            project.environment |= {key: slurm.environment[key] for key in ("SLURM_CONF",)}
            project.environment["PATH"] = f"{slurm.folder}{os.pathsep}{project.environment['PATH']}"

    def without_runs(self, folder: Path, slurm: RealSlurm, *, seconds: float = 0.02) -> ClusterProject:
        """Return a copy with the data of the task alone."""
        copy = self.project.copy(folder)
        for name in ("results/runs", ".snakemake", "logs"):
            shutil.rmtree(folder / name)
        found = ClusterProject(copy, slurm)
        found.project.with_sitecustomize(SLOWLY + OFTEN)
        found.project.environment["SLOW_SECONDS"] = str(seconds)
        return found

    @property
    def run_folder(self) -> Path:
        """Return the folder of the run, which has the same name everywhere."""
        return next(iter(_reference(self.folder).glob("results/runs/*/*/*"))).relative_to(_reference(self.folder))

    @property
    def target(self) -> str:
        """Return the file that is asked for: the scores of the run."""
        return (_reference(self.folder) / "target.txt").read_text()

    @property
    def run(self) -> Path:
        """Return this project's run."""
        return self.folder / self.run_folder

    def start(self, *options: str, before: tuple[str, ...] = ()) -> subprocess.Popen[bytes]:
        """Start Snakemake (behind a command, where one is given), and return its process."""
        log = (self.folder / "snakemake.out").open("ab")
        command = [sys.executable, "-m", "snakemake", *PROFILE, *options, "--", self.target]
        process = subprocess.Popen(
            [*before, *command],
            cwd=self.folder,
            env=self.project.environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        log.close()
        self._started.append(process)
        return process

    def stop(self) -> None:
        """End what was started here and is still at work."""
        for process in self._started:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        if self.slurm is not None and "slurmctld" in self.slurm.daemons:
            lines = self.slurm.call("squeue", "--noheader", "--format=%i|%Z", check=False).splitlines()
            ours = [line.partition("|")[0] for line in lines if line.endswith(f"|{self.folder}")]
            if ours:
                self.slurm.call("scancel", *ours, check=False)

    def printed(self) -> str:
        """Return what Snakemake and watch have printed."""
        return (self.folder / "snakemake.out").read_text(errors="replace")

    def updates(self) -> int:
        """Return how many lines of training the run has measured, in all attempts."""
        return sum(record.get("split") == "train" for record in read_metrics(self.run / "metrics.jsonl"))

    def training_job(self, *, updates: int = 4) -> str:
        """Wait until the run is at work and has come a little further; return the number of its SLURM job."""
        before = self.updates()

        def at_work() -> bool:
            holder = read_holder(self.run / "lease")
            return holder is not None and holder.job is not None and self.updates() >= before + updates

        until(at_work, f"the run trains\n{self.printed()[-2000:]}", 300)
        holder = read_holder(self.run / "lease")
        assert holder is not None and holder.job is not None
        return holder.job

    def finish(self, process: subprocess.Popen[bytes], seconds: float = 600.0) -> int:
        """Wait for the end of Snakemake and return its status."""
        until(lambda: process.poll() is not None, f"snakemake ends\n{self.printed()[-3000:]}", seconds)
        return process.wait()

    def attempts(self) -> int:
        """Return how often training was begun."""
        return sum(record.get("event") in ("start", "resume") for record in read_metrics(self.run / "metrics.jsonl"))

    def assert_same_results(self) -> None:
        """Hold weights, curves, hypotheses and scores against those of the undisturbed study, byte for byte."""
        reference = _reference(self.folder)
        names = [self.run_folder / "model.safetensors", self.run_folder / "curves.tsv", Path(self.target)]
        names += [path.relative_to(reference) for path in sorted((reference / self.target).parent.glob("hyp/*"))]
        assert len(names) > 3
        for name in names:
            assert (self.folder / name).read_bytes() == (reference / name).read_bytes(), f"{name} differs"
        self.assert_one_at_a_time()

    def assert_one_at_a_time(self) -> None:
        """Read off the diary that no two trainers were at work at once: between two starts, updates only rise."""
        last, is_open = 0, False
        for record in read_metrics(self.run / "metrics.jsonl"):
            if record.get("event") in ("start", "resume"):
                last, is_open = record["at_update"], True
                continue
            assert is_open, f"{record} after the end of an attempt"
            if record.get("event") == "end":
                is_open = False
            elif "update" in record:
                assert record["update"] >= last, f"update {record['update']} after {last}: two at once"
                last = record["update"]


def _reference(folder: Path) -> Path:
    """Return the undisturbed project, which every copy names."""
    return Path((folder / "reference.txt").read_text())


def undisturbed_project(folder: Path) -> ClusterProject:
    """Make the study at home, or return it where another worker has made it."""
    if (folder / "target.txt").exists():
        return ClusterProject(Project(folder))
    project = Project.create(folder)
    training = {"max_updates": UPDATES, "validate_every": UPDATES // 3, "log_every": 5, "average_checkpoints": 1}
    changes = {f"options__0__set__training__{key}": value for key, value in training.items()}
    project.update("config/studies/tiny.yaml", methods=["mixed"], tables={}, figures={}, **changes)
    # A GPU of the nodes is no GPU for torch; every run asks for one all the same.
    sizes = {"tiny": {"up_to_parameters": 10**6, "mem_mb": 1000, "train_minutes": 30, "translate_minutes": 30}}
    project.write("config/cluster.yaml", {"cores": 1, "gpu_model": "toy", "sizes": sizes})
    project.snakemake("--cores", "2", "models")
    [model] = (folder / "results/runs").glob("*/*/*/model.safetensors")
    [hypotheses] = [name for name in project.plan().outputs["decode"] if name.startswith("results/runs/")]
    target = str(Path(hypotheses).with_name("scores.json"))
    project.snakemake("--cores", "2", "--", target)
    (folder / "reference.txt").write_text(str(folder))
    (folder / "target.txt").write_text(target)
    assert model.is_file()
    return ClusterProject(project)
