"""What cannot be had is left out with its reason; everything else is made."""

from __future__ import annotations

from pathlib import Path

import pytest
from workflow.snakemake_project import TASK, Project, local_corpus

pytestmark = pytest.mark.slow


def test_a_task_without_its_corpus(project: Project) -> None:
    project.write("config/corpora/absent.yaml", local_corpus("absent", "text/absent"))
    domains = {name: {"corpora": ["absent"], "train": 60, "valid": 6, "test": 5} for name in ("news", "law")}
    project.write("config/tasks/absent.yaml", {**TASK, "title": "Absent", "domains": domains})
    # A study that shares its runs with the finished one, and has tables of a task that cannot be made.
    shown = {
        "tables": {"jiang2020-table2": {"task": "absent"}, "song2026-table4": {"task": "absent"}},
        "figures": {"jiang2020-figure8": {"task": "absent"}, "song2026-figure3": {"task": "tiny"}},
    }
    project.path("config/studies/partial.yaml").write_text(project.path("config/studies/tiny.yaml").read_text())
    project.update("config/studies/partial.yaml", tasks=["tiny", "absent"], **shown)

    plan = project.plan("--config", "study=partial")
    assert plan.rules == {"table", "figure", "runs_table", "report"}

    printed = project.snakemake("--cores", "2", "--config", "study=partial")
    assert "task absent is left out: it needs the files of 'Tiny absent'" in printed
    for table in ("jiang2020-table2", "song2026-table4"):
        text = project.path(f"results/partial/tables/{table}.md").read_text()
        assert "needs the files of" in text
    report = project.path("results/partial/report.html").read_text()
    assert "Task absent" in report and "needs the files of" in report
    rows = project.path("results/partial/runs.tsv").read_text().splitlines()
    assert [row.split("\t")[-2] for row in rows[1:]] == ["done", "done", "missing", "missing"]
    assert not list(project.path("results/tasks").glob("absent*"))


def test_no_pip_to_fetch_with(tmp_path: Path) -> None:
    project = Project.create(tmp_path / "project")
    project.with_sitecustomize("import sys\nsys.modules['pip'] = None\n")
    printed = project.snakemake("-n", "--config", "study=demo")
    assert "task demo-en-fr is left out: it needs statcan-dialogue-dataset" in printed
    assert "has no pip to fetch it" in printed
    plan = project.plan("--config", "study=demo")
    assert plan.rules == {"table", "figure", "runs_table", "report"}
