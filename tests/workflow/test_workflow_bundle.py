"""A study whose runs are in the bundle is rebuilt without weights or training, and the bundle is verified."""

from __future__ import annotations

import shutil

import pytest
from workflow.snakemake_project import WORDS, Project

pytestmark = pytest.mark.slow


def test_a_bundled_study_is_rebuilt_without_training(project: Project) -> None:
    # Else the bundle has no words of its analyses, which the figure reads.
    for name in WORDS:
        project.update(f"config/corpora/tiny-{name}.yaml", redistributable=True)
    project.update(
        "config/studies/tiny.yaml",
        tables={"jiang2020-table2": {"task": "tiny"}},
        figures={"jiang2020-figure8": {"task": "tiny"}},
    )
    table = project.path("results/tiny/tables/jiang2020-table2.csv")
    # The bundle takes a run once all that the study asks of it is there.
    project.snakemake("--cores", "2", "--quiet", "all")
    before = table.read_bytes()
    packed = project.mdnmt("bundle", "tiny")
    assert packed.returncode == 0 and "not added" not in packed.stdout, packed.stdout + packed.stderr

    shutil.rmtree(project.path("results/runs"))
    shutil.rmtree(project.path("results/tiny"))
    assert "train" in project.plan().outputs
    pulled = project.mdnmt("pull", "docs/replication/bundle", "--study", "tiny")
    assert pulled.returncode == 0 and "taken in" in pulled.stdout, pulled.stdout + pulled.stderr
    assert not {"train", "decode", "score", "analyse"} & set(project.plan().outputs)
    project.snakemake("--cores", "2", "--quiet", "all")
    assert table.read_bytes() == before
    verified = project.mdnmt("verify", "docs/replication/bundle", "--quiet")
    assert verified.returncode == 0, verified.stdout + verified.stderr
