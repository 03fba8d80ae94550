"""A method that starts from another one's trained model is trained after it, and from it."""

from __future__ import annotations

import json

import pytest
from workflow.snakemake_project import Project

from mdnmt.fingerprint import sha256_file

pytestmark = pytest.mark.slow


def test_a_run_waits_for_the_one_it_starts_from(project: Project) -> None:
    project.update("config/studies/tiny.yaml", methods=["mixed", "waldm-edc", "waldm-edc-init"])
    assert project.plan().trained() == ["waldm-edc-init/seed1"]
    [mixed] = project.path("results/runs/tiny/mixed").iterdir()
    (mixed / "model.safetensors").unlink()
    assert project.plan().trained() == ["mixed/seed1", "waldm-edc-init/seed1"]
    project.snakemake("--cores", "2")
    [started] = project.path("results/runs/tiny/waldm-edc-init").iterdir()
    record = json.loads((started / "run.json").read_text())
    assert f"seed1-{record['spec']['initial_run']}" == mixed.name
    assert record["provenance"]["initial_model_sha256"] == sha256_file(mixed / "model.safetensors")
    # A file that is newer than what was made of it, under the same address, is no reason to train again.
    (mixed / "model.safetensors").touch()
    assert project.plan().trained() == []
