"""The study `rules`, which CI runs, names every rule that a real study uses."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from workflow.snakemake_project import ROOT, Project

pytestmark = pytest.mark.slow

FOR_TOYS = {"combined_task.smk", "combined_exhibits.smk"}  # rules that only `combine_jobs` uses
FOR_BUNDLES = {"bundled.smk"}  # they need a bundle: test_workflow_bundle.py runs them
FOR_EXTERNAL = {"external"}  # it needs translations from elsewhere: test_workflow_external.py runs it
ON_REQUEST = {"data", "models", "translations"}  # targets without a command of their own


def rules_of(path: Path) -> set[str]:
    """Return the names of the rules in a file of the workflow."""
    return set(re.findall(r"^rule (\w+):", path.read_text(encoding="utf-8"), flags=re.M))


def test_every_production_rule_is_in_the_study_that_ci_runs(tmp_path: Path) -> None:
    files = [ROOT / "Snakefile", *(ROOT / "workflow/rules").glob("*.smk")]
    left_out = FOR_TOYS | FOR_BUNDLES
    production = set().union(*(rules_of(path) for path in files if path.name not in left_out))
    production -= ON_REQUEST | FOR_EXTERNAL
    project = Project.create(tmp_path / "project")

    def planned(*target: str) -> set[str]:
        printed = project.snakemake("-n", "--quiet", "rules", "--cores", "1", *target, "--config", "study=rules")
        return set(re.findall(r"^(\w+) +\d+$", printed, flags=re.M))

    assert planned() - {"total"} == production


def test_a_dry_run_writes_nothing(tmp_path: Path) -> None:
    project = Project.create(tmp_path / "project")  # its texts are local files, whose checksums are computed

    def tree() -> dict[str, tuple[int, int]]:
        # .snakemake/log and the like are Snakemake's own.
        return {
            str(path): (path.stat().st_size, path.stat().st_mtime_ns)
            for path in project.folder.rglob("*")
            if ".snakemake" not in path.parts and path.is_file()
        }

    before = tree()
    assert "train" in project.plan("--config", "study=tiny").rules
    assert tree() == before and not project.path(".snakemake/specs").exists()
    project.snakemake("--cores", "1", "results/audit/jiang2020.json", "--config", "study=tiny")
    assert project.path("resources/corpora/sha256.json").is_file(), "a real run keeps them"
