"""Every rule is run by some test."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from workflow.snakemake_project import ROOT, Project

pytestmark = pytest.mark.slow

# Run by another test than those of the finished study; `smoke` is the study that CI makes.
RUN_BY = {
    "external": "test_workflow_external",
    "requested_metric": "test_workflow_external",
    "comet": "test_workflow_external",
    "word_accuracy": "test_workflow_synthetic",
    "fetch_weights": "test_workflow_pretrained",
    "comet_environment": "make test-all",
    "ambiguity": "smoke",
    "predicted_labels": "test_labels_are_predicted_where_a_table_asks_for_them",
}
TARGETS = {"all", "data", "models", "translations"}  # without a command of their own


def test_every_rule_is_run_somewhere(finished: Project) -> None:
    files = [ROOT / "Snakefile", *(ROOT / "workflow" / "rules").glob("*.smk")]
    rules = {rule for path in files for rule in re.findall(r"^rule (\w+):", path.read_text("utf-8"), flags=re.M)}
    made = finished.path(".snakemake/metadata").rglob("*")
    run = {json.loads(path.read_text("utf-8"))["rule"] for path in made if path.is_file()}
    assert rules == run | RUN_BY.keys() | TARGETS and not run & RUN_BY.keys()
    modules = {name for name in RUN_BY.values() if name.startswith("test_workflow")}
    assert modules <= {path.stem for path in Path(__file__).parent.glob("*.py")}


def test_labels_are_predicted_where_a_table_asks_for_them(project: Project) -> None:
    methods, tables = ["mixed", "domain-tag"], {"mdnmt-labels": {"task": "tiny"}}
    project.update("config/studies/tiny.yaml", methods=methods, tables=tables, figures={})
    [labels] = project.plan().outputs["predicted_labels"]
    project.snakemake("--cores", "1", labels)
    assert 0 <= json.loads(project.path(labels).read_text("utf-8"))["accuracy"] <= 1
