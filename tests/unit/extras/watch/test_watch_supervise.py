"""A Snakemake that is stopped where it waits in vain, and started again."""

from __future__ import annotations

import sys
from pathlib import Path

from mdnmt.extras.watch.overview import Overview
from mdnmt.extras.watch.slurm_jobs import SlurmJob
from mdnmt.extras.watch.snakemake_log import StartState
from mdnmt.extras.watch.supervise import Supervisor
from mdnmt.operations.progress.run_states import RunState

# Counts its starts in a file; waits for ever at the first, and does what it is told at the second.
SCRIPT = """
import pathlib, select, sys
starts = pathlib.Path("starts")
number = len(starts.read_text()) if starts.exists() else 0
starts.write_text("x" * (number + 1))
select.select([], [], [], 60) if number == 0 and sys.argv[1] == "hang" else None
sys.exit(int(sys.argv[2 + min(number, len(sys.argv) - 3)]))
"""


class Scene:
    """What the supervisor sees: of jobs, and of a run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.jobs: dict[str, str] = {}
        self.waiting: list[str] = []
        self.failed_submissions = 0
        self.is_running = True

    @property
    def starts(self) -> int:
        path = self.folder / "starts"
        return len(path.read_text()) if path.exists() else 0

    def look(self) -> Overview:
        jobs = {number: SlurmJob(number, state, "rule_train") for number, state in self.jobs.items()}
        # The second start waits for nothing.
        waiting = self.waiting if self.starts == 1 else []
        # A start has its log once it has begun; until then the log of the one before is the newest.
        last_start = StartState(Path(f"log-{self.starts}"), dict.fromkeys(waiting, "1"), self.failed_submissions)
        return Overview([RunState("run", "stopped", 0)], jobs, "snakemake" if self.is_running else None, last_start)


def supervise(scene: Scene, *arguments: str, patience: float = 0.0) -> tuple[int, list[str], list[list[str]]]:
    said: list[str] = []
    calls: list[list[str]] = []

    def run(command: list[str]) -> str:
        calls.append(command)
        scene.jobs = {number: state for number, state in scene.jobs.items() if number not in command}
        return ""

    command = [sys.executable, "-c", SCRIPT, *arguments]
    supervisor = Supervisor(
        command, scene.folder, scene.look, patience_seconds=patience, every_seconds=0.01, say=said.append, run=run
    )
    return supervisor(), said, calls


def test_stops_and_starts_again(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.waiting = ["4"]
    status, said, _ = supervise(scene, "hang", "0")
    assert status == 0 and scene.starts == 2
    assert "job 4: Snakemake waits for it, but SLURM does not know it any more" in said


def test_goes_on_while_another_job_is_alive(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.waiting, scene.jobs = ["4", "5"], {"5": "RUNNING"}
    (tmp_path / "starts").write_text("x")
    supervisor = Supervisor([], tmp_path, scene.look, patience_seconds=0.0)
    assert supervisor._long_lost(scene.look()) == []
    scene.jobs = {"5": "TIMEOUT"}
    assert supervisor._long_lost(scene.look()) == ["4", "5"]
    patient = Supervisor([], tmp_path, scene.look, patience_seconds=1000.0)
    assert patient._long_lost(scene.look()) == []


def test_ends_where_nothing_was_made(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    status, said, _ = supervise(scene, "end", "1")
    assert status == 1 and scene.starts == 1 and "nothing was made" in said[-1]


def test_starts_again_after_failed_submissions(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.failed_submissions = 2
    status, _, _ = supervise(scene, "end", "1", "0")
    assert status == 0 and scene.starts == 2


def test_sees_jobs_off_that_nobody_waits_for(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.jobs, scene.is_running = {"8": "PENDING", "9": "PENDING"}, False
    lock = tmp_path / ".snakemake" / "locks" / "0.input.lock"
    lock.parent.mkdir(parents=True)
    lock.touch()
    status, said, calls = supervise(scene, "end", "0")
    assert status == 0 and calls == [["scancel", "8", "9"]] and "waiting for 2 jobs" in said[0]
    assert not lock.exists()
