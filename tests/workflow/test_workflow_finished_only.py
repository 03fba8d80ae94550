"""With `finished_only=true` everything is made from runs that are trained; the others are named and not trained."""

from __future__ import annotations

import shutil

import pytest
from workflow.snakemake_project import Project

pytestmark = pytest.mark.slow

FINISHED_ONLY = ("--config", "finished_only=true")


def test_exhibits_and_claims_are_made_without_the_runs_that_are_not_trained(project: Project) -> None:
    tables = {"jiang2020-table2": {"task": "tiny"}}
    project.update("config/studies/tiny.yaml", tables=tables, figures={"jiang2020-figure8": {"task": "tiny"}})
    shutil.rmtree(project.path("results/runs/tiny/waldm-edc"))
    shutil.rmtree(project.path("results/tiny"))
    assert "train" in project.plan().outputs
    assert "train" not in project.plan("all", *FINISHED_ONLY).outputs

    project.snakemake("--cores", "2", "--quiet", "all", *FINISHED_ONLY)
    assert not project.path("results/runs/tiny/waldm-edc").exists()
    table = project.path("results/tiny/tables/jiang2020-table2.md").read_text()
    assert "is not trained yet" in table and "Mixed" in table
    claims = project.path("results/tiny/claims/jiang2020.json").read_text()
    assert "is not trained yet" in claims
    assert project.path("results/tiny/report.html").is_file()
    # Without the option, the missing runs are trained and the same files are made again.
    assert {"train", "table", "claims"} <= project.plan().rules
