"""A study whose processes are killed at random points and started again until it is done, and its results compared."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

ROOT = Path(__file__).resolve().parents[2]
NOT_COPIED = {"results", "logs", ".snakemake", ".venv", ".git", ".mypy_cache", ".ruff_cache"}

# What may differ between two runs of the same study, and why. Everything else is the same, byte for byte.
# In JSON files: who made it when, how long it took, in how many attempts.
TIMES = {"provenance", "seconds", "resumes", "attempts", "tokens_per_second", "utc", "seal"}
TIMED_FILES = (
    "runs/*/*/*/metrics.jsonl",  # the diary of a run: times, and what happened to it
    "*/measure/*",  # time and memory
    "*/tables/song2026-table4.*",  # made from them
    "*/tables/phan2022-time.*",
    "*/claims/song2026.*",  # and the claims on them
    "*/claims/phan2022.*",
    "*/report.html",  # shows all of it
)


def copy_project(folder: Path) -> Path:
    """Copy the project without what it has made; return the copy."""
    folder.mkdir(parents=True)
    parts = [path.name for path in ROOT.iterdir() if path.name not in NOT_COPIED]
    subprocess.run(["cp", "-r", *parts, str(folder)], cwd=ROOT, check=True)
    return folder


@dataclass
class Disturber:
    """Runs a study in `folder` to its end, killing `kills` of its processes on the way.

    A kill waits for a number of finished jobs, drawn at random, and hits one of the processes that are alive then:
    Snakemake itself, a shell, or a verb. The draws depend on `seed`; where in a job a kill lands is up to the machine.

    Attributes:
        folder: a copy of the project.
        study: the study's name.
        jobs: how many jobs it has, over which the kills are spread.
        kills: how many processes are killed.
        seed: of the draws.
        log: a line for each kill and start.
    """

    folder: Path
    study: str
    jobs: int
    kills: int
    seed: int = 1
    log: list[str] = field(default_factory=list)
    _finished: int = 0

    def run(self) -> None:
        """Start, kill, and start again until the study is done.

        Raises:
            AssertionError: it did not end although it was started more often than it was disturbed.
        """
        draw = random.Random(self.seed)
        # Fewer jobs than there are are seen to finish: the last ones before Snakemake itself is killed are not.
        points = sorted(draw.sample(range(1, int(0.85 * self.jobs)), self.kills))
        for start in range(1, self.kills + 6):
            self._wait_for_orphans()
            status = self._once(points, draw)
            self.log.append(f"start {start}: ended with {status} after {self._finished} jobs, {len(points)} kills left")
            if status == 0:
                assert not points, f"done with {len(points)} kills left: {self.log}"
                return
        raise AssertionError(f"not done after {self.kills + 5} starts: {self.log[-5:]}")

    def _once(self, points: list[int], draw: random.Random) -> int:
        environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
        command = [sys.executable, "-m", "snakemake", "--cores", "2", "--config", f"study={self.study}"]
        process = subprocess.Popen(
            command, cwd=self.folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        killer: threading.Thread | None = None
        assert process.stdout is not None
        with (self.folder / "snakemake.log").open("a", encoding="utf-8") as kept:
            for line in process.stdout:
                kept.write(line)
                if line.startswith("Finished jobid"):
                    self._finished += 1
                if points and self._finished >= points[0] and (killer is None or not killer.is_alive()):
                    points.pop(0)
                    # Up to two seconds later, so that a kill can land anywhere in a job and not at its start alone.
                    killer = threading.Timer(2 * draw.random(), self._kill_one, args=(process.pid, draw.random()))
                    killer.start()
        if killer is not None:
            killer.join()
        return process.wait()

    def _kill_one(self, snakemake: int, which: float) -> None:
        try:
            root = psutil.Process(snakemake)
            alive = [root, *root.children(recursive=True)]
            victim = alive[int(which * len(alive))]
            words = victim.cmdline()
            victim.kill()
        except psutil.NoSuchProcess:
            self.log.append("a kill found nobody")
            return
        self.log.append(f"killed {Path(words[0]).name if words else '?'} {' '.join(words[1:4])[:60]}")

    def _wait_for_orphans(self) -> None:
        """Wait until no process of the start before is at work in the folder, then open the lock as a user would."""
        while orphans := [process for process in psutil.process_iter() if _works_in(process, self.folder)]:
            psutil.wait_procs(orphans)
        unlock = [sys.executable, "-m", "mdnmt.cli", "unlock"]
        subprocess.run(unlock, cwd=self.folder, check=True, capture_output=True)


def _works_in(process: psutil.Process, folder: Path) -> bool:
    try:
        return process.status() != psutil.STATUS_ZOMBIE and Path(process.cwd()) == folder
    except (psutil.Error, OSError):
        return False


def differences(first: Path, second: Path) -> list[str]:
    """Return in what two results folders differ, a line each; what may differ is left out."""
    found = [f"{name}: only in {folder}" for name, folder in _alone(first, second)]
    both = _files(first) & _files(second)
    for name in sorted(both):
        if any(Path(name).match(pattern) for pattern in TIMED_FILES):
            continue
        left, right = (first / name).read_bytes(), (second / name).read_bytes()
        if left != right and not (name.endswith(".json") and _timeless(left) == _timeless(right)):
            found.append(f"{name}: differs")
    return found


def _alone(first: Path, second: Path) -> Iterator[tuple[str, Path]]:
    left, right = _files(first), _files(second)
    yield from ((name, first) for name in sorted(left - right))
    yield from ((name, second) for name in sorted(right - left))


def _files(folder: Path) -> set[str]:
    # Snakemake's own mark in a folder that it was told of: one whose job it did not see the end of has none.
    # The repository's own page on what lies in results/ is not copied with the rest.
    paths = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    return {path.as_posix() for path in paths if path.name != ".snakemake_timestamp" and path != Path("README.md")}


def _timeless(text: bytes) -> Any:
    def without(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: without(inner) for key, inner in value.items() if key not in TIMES}
        return [without(inner) for inner in value] if isinstance(value, list) else value

    return without(json.loads(text))
