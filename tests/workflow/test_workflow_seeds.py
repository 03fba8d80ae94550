"""Several seeds and one run a domain: from what is there so far to a table with mean and spread."""

from __future__ import annotations

import csv
import json
import statistics
from pathlib import Path

import pytest
from workflow.snakemake_project import Project

pytestmark = pytest.mark.slow

METHODS = {"single-economy", "single-law", "mixed", "waldm-edc"}


def rows(path: Path, delimiter: str = ",") -> list[dict[str, str]]:
    with path.open(newline="") as handle:
        return list(csv.DictReader(handle, delimiter=delimiter))


def test_more_seeds_and_single_domains_from_a_partial_page_to_the_whole(project: Project) -> None:
    project.update("config/studies/tiny.yaml", seeds=2, methods=["single", "mixed", "waldm-edc"])

    # Before: the page of what is there knows what is not.
    assert project.mdnmt("exhibit", "tiny").returncode == 0
    partial = project.path("results/tiny/partial")
    states = {(row["method"], row["seed"]): row["state"] for row in rows(partial / "runs.tsv", "\t")}
    assert {key for key, state in states.items() if state == "done"} == {("mixed", "1"), ("waldm-edc", "1")}
    assert set(states) == {(method, seed) for method in METHODS for seed in "12"}
    table = json.loads((partial / "tables/jiang2020-table2.json").read_text())
    assert "not made yet" in json.dumps(table)
    assert "What is missing" in (partial / "report.html").read_text()

    project.snakemake("--cores", "2")
    made = project.path("results/tiny")
    runs = rows(made / "runs.tsv", "\t")
    assert {(row["method"], row["seed"]) for row in runs} == set(states)
    assert {row["state"] for row in runs} == {"done"}

    # Mean and spread of the table are those of the scores, seed by seed.
    table = [row for row in rows(made / "tables/jiang2020-table2.csv") if row["metric"] == "bleu"]
    cells = {(row["method"], row["column"]): row for row in table}
    for method in METHODS:
        folders = [project.path(row["test_dir"]) for row in runs if row["method"] == method]
        scores = [
            json.loads((folder / "scores.json").read_text())["domains"]["law"]["bleu"]["score"] for folder in folders
        ]
        cell = cells[method, "law"]
        assert cell["n_seeds"] == "2"
        assert float(cell["mean"]) == pytest.approx(statistics.mean(scores))
        assert float(cell["sd"]) == pytest.approx(statistics.stdev(scores))
    assert cells["copy-source", "law"]["n_seeds"] == "0"

    # Every system was compared with the baseline, seed by seed.
    compared = json.loads((made / "significance/jiang2020-table2.json").read_text())["systems"]
    seeds = {method: value["law"]["bleu"]["seeds"] for method, value in compared.items()}
    assert seeds == dict.fromkeys(METHODS - {"mixed"}, 2)

    # Seeds taken back in the file: what runs.tsv names was made on purpose and is not stale.
    project.update("config/studies/tiny.yaml", seeds=1)
    assert "nothing stale" in project.mdnmt("clean", "--stale").stdout
