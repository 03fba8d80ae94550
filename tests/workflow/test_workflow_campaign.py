"""A campaign makes the bytes that Snakemake makes, here and from a pack; Snakemake then makes only the exhibits."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from house_rules import ABSENT
from workflow.snakemake_project import ROOT, Project

pytestmark = pytest.mark.slow

OF_RUNS = {"train", "decode", "analyse", "score"}
TIMES = {"run.json", "metrics.jsonl"}  # contain times


def files_of_runs(folder: Path) -> dict[str, bytes]:
    """Return name -> bytes of what the runs are made of; without checkpoints and records of Snakemake's own."""
    paths = [path for path in (folder / "results/runs").rglob("[!.]*") if path.is_file() and "ckpt" not in path.parts]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths if path.name not in TIMES}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory, finished: Project) -> Project:
    """Return a project with the data of the task, and no run."""
    project = finished.copy(tmp_path_factory.mktemp("campaign") / "project")
    for name in ("runs", "tiny"):
        shutil.rmtree(project.path(f"results/{name}"))
    shutil.rmtree(project.path("logs"))
    return project


def test_a_campaign_and_snakemake_make_the_same_bytes(finished: Project, data: Project, tmp_path: Path) -> None:
    project = data.copy(tmp_path / "here")
    done = project.mdnmt("campaign", "tiny", "--jobs", "2")
    assert done.returncode == 0 and "2 of 2 runs are done" in done.stdout, done.stdout + done.stderr
    assert files_of_runs(project.folder) == files_of_runs(finished.folder)
    planned = project.plan().rules
    assert {"table", "figure", "report"} <= planned and not OF_RUNS & planned
    again = project.mdnmt("campaign", "tiny")
    assert again.returncode == 0 and "[" not in again.stdout


def test_a_pack_runs_on_a_bare_machine_and_its_parts_come_home(
    finished: Project, data: Project, tmp_path: Path
) -> None:
    home, away = data.copy(tmp_path / "home"), tmp_path / "away"
    packed = home.mdnmt("campaign", "tiny", "--pack", "../tiny.zip")
    assert packed.returncode == 0 and "2 runs" in packed.stdout, packed.stdout + packed.stderr
    names = zipfile.ZipFile(tmp_path / "tiny.zip").namelist()
    carried = {name.split("/")[1] for name in names if name.startswith("packages/")}
    assert {"sacremoses", "subword_nmt", "joblib"} <= carried and not {"torch", "pandas", "snakemake"} & carried
    away.mkdir()
    blocked = f"import sys\nsys.modules.update(dict.fromkeys({ABSENT!r}))\n"
    (away / "sitecustomize.py").write_text(blocked)
    environment = {**os.environ, "PYTHONPATH": f"{away}{os.pathsep}{ROOT / 'src'}"}
    command = [sys.executable, "-m", "mdnmt", "campaign", "../tiny.zip", "--jobs", "2"]

    def there(*more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*command, *more], cwd=away, env=environment, text=True, capture_output=True, check=False, timeout=600
        )

    stopped = there("--minutes", "0.001")
    assert stopped.returncode == 75 and "start the same command again" in stopped.stderr, stopped.stderr
    made = there()
    assert made.returncode == 0, made.stdout + made.stderr
    assert files_of_runs(away) == files_of_runs(finished.folder)
    [part] = (away / "parts").iterdir()
    assert not any("safetensors" in name for name in zipfile.ZipFile(part).namelist())
    pulled = home.mdnmt("pull", str(part))
    assert pulled.returncode == 0 and pulled.stdout.count(": taken in\n") == 2, pulled.stdout + pulled.stderr
    planned = home.plan().rules
    assert {"table", "figure", "report"} <= planned and not OF_RUNS & planned
    record = next(home.path("results/runs").glob("*/*/*/run.json"))
    assert json.loads(record.read_text())["model_sha256"] and not record.with_name("model.safetensors").exists()
