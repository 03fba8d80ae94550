"""The study `rules`, which CI runs, names every rule that a real study uses."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from workflow.snakemake_project import ROOT, Project

pytestmark = pytest.mark.slow

FOR_TOYS = {"whole.smk", "together.smk", "validation.smk"}  # rules that only `in_one_process` uses
ON_REQUEST = {"data", "models", "translations"}  # targets without a command of their own


def rules_of(path: Path) -> set[str]:
    """Return the names of the rules in a file of the workflow."""
    return set(re.findall(r"^rule (\w+):", path.read_text(encoding="utf-8"), flags=re.M))


def test_every_production_rule_is_in_the_study_that_ci_runs(tmp_path: Path) -> None:
    files = [ROOT / "Snakefile", *(ROOT / "workflow/rules").glob("*.smk")]
    production = set().union(*(rules_of(path) for path in files if path.name not in FOR_TOYS)) - ON_REQUEST
    project = Project.create(tmp_path / "project")

    def planned(*target: str) -> set[str]:
        printed = project.snakemake("-n", "--quiet", "rules", "--cores", "1", *target, "--config", "study=rules")
        return set(re.findall(r"^(\w+) +\d+$", printed, flags=re.M))

    # `make rules` makes both pages.
    run = planned() | planned("report_partial")
    assert run - {"total"} == production
