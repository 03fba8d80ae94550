"""A method that starts from another one's trained model is trained after it, and from it."""

from __future__ import annotations

import json

import pytest
from workflow.snakemake_project import WORDS, Project

from mdnmt.exhibits.grid import read_grid
from mdnmt.fingerprint import sha256_file
from mdnmt.fsio import read_json

pytestmark = pytest.mark.slow


def test_a_run_waits_for_the_one_it_starts_from(project: Project) -> None:
    project.update("config/studies/tiny.yaml", methods=["mixed", "waldm-edc", "waldm-edc-init"])
    assert project.plan().trained() == ["waldm-edc-init/seed1"]
    [mixed] = project.path("results/runs/tiny/mixed").iterdir()
    (mixed / "model.safetensors").unlink()
    assert project.plan().trained() == ["mixed/seed1", "waldm-edc-init/seed1"]
    project.snakemake("--cores", "2", "models")
    [started] = project.path("results/runs/tiny/waldm-edc-init").iterdir()
    record = json.loads((started / "run.json").read_text())
    assert f"seed1-{record['spec']['initial_run']}" == mixed.name
    assert record["provenance"]["initial_model_sha256"] == sha256_file(mixed / "model.safetensors")
    # A file that is newer than what was made of it, under the same address, is no reason to train again.
    (mixed / "model.safetensors").touch()
    assert project.plan().trained() == []


def test_fine_tuned_models_are_one_row_of_a_papers_table(project: Project) -> None:
    tuned = {"group": "Adapted to each domain", "method": "finetuned", "own_domain": True}
    tables = {"zhang2021-table3-en-fr": {"task": "tiny", "rows": [tuned]}}
    project.update("config/studies/tiny.yaml", methods=["mixed", "finetuned"], tables=tables, figures={})
    made = "results/tiny/tables/zhang2021-table3-en-fr.json"
    project.snakemake("--cores", "2", "--quiet", "all", "--", made)
    grid = read_grid(project.path(made))
    row = grid.rows[-1]
    assert row.method == "finetuned" and len(row.runs) == len(WORDS)
    for header, cell in zip(grid.headers, row.cells, strict=True):
        assert cell.p is None
        if header.key in WORDS:
            [scores] = project.path(f"results/runs/tiny/finetuned-{header.key}").glob("*/test-*/scores.json")
            assert cell.mean == read_json(scores)["domains"][header.key][header.metric]["score"]
    assert "on other domains" in grid.reasons[row.marks[0]]
