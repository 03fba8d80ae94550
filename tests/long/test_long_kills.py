"""Kill any process of a whole study at random points, start it again until it is done: its results are the same.

    MDNMT_KILLS=50 pytest tests/long/test_long_kills.py

`MDNMT_UNDISTURBED` names a results folder of the same study and commit that was never disturbed; without it one is
made first. `MDNMT_STUDY` is another study than `smoke`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from disturbed import Disturber, copy_project, differences

STUDY = os.environ.get("MDNMT_STUDY", "smoke")
KILLS = int(os.environ.get("MDNMT_KILLS", "50"))


def snakemake(folder: Path, *options: str) -> str:
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    command = [sys.executable, "-m", "snakemake", "--cores", "2", "--config", f"study={STUDY}", *options]
    done = subprocess.run(command, cwd=folder, env=environment, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout + done.stderr


def number_of_jobs(printed: str) -> int:
    """Return the total of the table of jobs that a dry run prints."""
    return int(next(line for line in printed.splitlines() if line.startswith("total")).split()[1])


def test_a_study_killed_again_and_again_ends_with_the_same_results(tmp_path: Path) -> None:
    if "MDNMT_UNDISTURBED" in os.environ:
        undisturbed = Path(os.environ["MDNMT_UNDISTURBED"]).resolve()
    else:
        undisturbed = copy_project(tmp_path / "undisturbed") / "results"
        snakemake(undisturbed.parent)
    folder = copy_project(tmp_path / "disturbed")
    disturber = Disturber(folder, STUDY, number_of_jobs(snakemake(folder, "--dry-run")), KILLS)
    disturber.run()
    print("\n".join(disturber.log))
    assert sum(line.startswith("killed") for line in disturber.log) >= 0.9 * KILLS
    assert differences(undisturbed, folder / "results") == []
