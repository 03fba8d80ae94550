"""A second clone pulls the runs that another machine trained, and makes the report without training or translating."""

from __future__ import annotations

from pathlib import Path

import pytest
from workflow.snakemake_project import Project

pytestmark = pytest.mark.slow


def test_a_second_clone_makes_the_report_of_pulled_runs(finished: Project, tmp_path: Path) -> None:
    store = str(tmp_path / "store")
    pushed = finished.mdnmt("push", store, "--study", "tiny")
    assert pushed.returncode == 0 and pushed.stdout.count(": pushed\n") == 2, pushed.stdout + pushed.stderr
    clone = Project.create(tmp_path / "clone")
    records = [path.name for path in finished.path("logs/benchmarks").glob("decode-*.jsonl")]
    assert records
    for name in records:  # of jobs that ran here once
        clone.path("logs/benchmarks").mkdir(parents=True, exist_ok=True)
        clone.path(f"logs/benchmarks/{name}").write_text("{}\n", encoding="utf-8")
    # Snakemake trains a run again whose task it has to build, so pull names the command that builds it.
    pulled = clone.mdnmt("pull", store, "--study", "tiny")
    assert pulled.returncode == 0 and pulled.stdout.count(": pulled\n") == 2, pulled.stdout + pulled.stderr
    command = "snakemake --cores all data --config study=tiny"
    assert f"not built here; before the study, start `{command}`" in pulled.stdout
    assert "train" in clone.plan().rules
    clone.snakemake(*command.split()[1:], "--quiet")
    again = clone.mdnmt("pull", store, "--study", "tiny")
    assert again.returncode == 0 and again.stdout.count(": is here already\n") == 2 and "not built" not in again.stdout
    planned = clone.plan()
    assert {"table", "figure", "report"} <= planned.rules
    assert not {"train", "decode", "analyse", "score"} & planned.rules
    clone.snakemake("--cores", "2", "--quiet", "all")
    assert not [path for name in ("train", "decode", "analyse") for path in clone.path("logs").glob(f"{name}/*")]
    table = "results/tiny/tables/jiang2020-table2.csv"
    assert clone.path(table).read_bytes() == finished.path(table).read_bytes()
    assert clone.path("results/tiny/report.html").is_file()
