"""Translations from elsewhere become rows through the real workflow, and nothing is trained for them."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from workflow.snakemake_project import WORDS, Project

from mdnmt import results
from mdnmt.exhibits.grid import GridRow, read_grid

pytestmark = pytest.mark.slow

STUDY, KEY = "config/studies/tiny.yaml", "jiang2020-table2"
SYSTEM = {
    "label": "Theirs <b>",
    "provenance": "Somebody & others,\n2024, CC BY 4.0",
    "model": "some-llm-2026-05",
    "date": "2026-05-03",
    "prompt": "Translate into French:\n{sentence}",
    "hypotheses": {"tiny": "theirs"},
}


def add_system(project: Project) -> None:
    """Give the study a system that translates every sentence as its reference, and a table with all text metrics."""
    [text] = project.path("results/tasks").glob("tiny-*/text")
    project.path("theirs").mkdir()
    for name in WORDS:
        project.path(f"theirs/hyp.{name}.txt").write_bytes((text / f"test.{name}.fr").read_bytes())
    project.update(
        STUDY,
        external={"theirs": SYSTEM},
        tables={KEY: {"task": "tiny", "metrics": ["bleu", "ter", "comet", "perplexity"]}},
        figures={"mdnmt-effects": {"task": "tiny"}},
        comet={"name": "toy-comet"},
    )


def row(project: Project) -> GridRow:
    grid = read_grid(project.path(f"results/tiny/tables/{KEY}.json"))
    return next(row for row in grid.rows if row.method == "theirs")


def notes(project: Project) -> list[str]:
    """Return the notes under the table."""
    return [*read_grid(project.path(f"results/tiny/tables/{KEY}.json")).reasons]


def test_a_row_from_elsewhere_is_scored_tested_and_shown(project: Project, comet_folder: Path) -> None:
    add_system(project)
    project.path(".venv-comet").symlink_to(comet_folder)
    plan = project.plan()
    assert {"external", "score", "requested_metric", "comet", "significance"} <= plan.rules
    assert not {"arrays", "train", "decode"} & plan.rules
    assert all("/external-theirs-" in output for output in plan.outputs["score"])
    assert "External systems, not trained here: Theirs <b>." in project.mdnmt("plan", "tiny").stdout
    project.snakemake("--cores", "2", "--quiet", "all")

    cells = dict(zip(["bleu", "ter", "comet", "perplexity"], row(project).cells[::3], strict=True))
    assert row(project).label == "Theirs <b> (external)" and row(project).group == "External systems"
    assert cells["bleu"].mean == pytest.approx(100.0) and cells["ter"].mean == 0.0
    assert cells["comet"].mean is not None and cells["perplexity"].mean is None
    [note] = [one for one in notes(project) if "some-llm-2026-05" in one]
    known = ("; date: 2026-05-03; ", "prompt: Translate into French: {sentence}; ", "in its training data: unknown")
    assert "not trained here: Somebody & others" in note and all(fact in note for fact in known)
    assert cells["bleu"].tested is not None and cells["bleu"].num_seeds == 1

    numbers = results.load("tiny", project.path("results")).query("variant == 'external'")
    assert set(numbers["method"]) == {"theirs"} and set(numbers["metric"]) >= {"bleu", "chrf", "ter", "comet"}
    with project.path(f"results/tiny/tables/{KEY}.csv").open() as handle:
        assert {"Theirs <b> (external)"} == {
            line["label"] for line in csv.DictReader(handle) if line["method"] == "theirs"
        }
    page = project.path("results/tiny/report.html").read_text()
    assert "<p>test text in its training data: unknown</p>" in page
    assert "Somebody &amp; others," in page and "Theirs &lt;b&gt; (external)" in page and "<b> (external)" not in page
    figure = json.loads(project.path("results/tiny/figures/mdnmt-effects.json").read_text())
    assert "theirs" in {measure["method"] for measure in figure["measures"]}

    # Another text is another address: it is scored again, and nothing else of the study is.
    before, [old] = row(project), project.path("results/tasks").glob("tiny-*/external-theirs-*/hyp")
    changed = project.path("theirs/hyp.law.txt")
    changed.write_text(changed.read_text().replace(" ", " x ", 1))
    plan = project.plan()
    assert "external" in plan.rules and not {"arrays", "train", "decode"} & plan.rules
    assert all(
        "/external-theirs-" in output
        for rule in ("score", "requested_metric", "comet")
        for output in plan.outputs[rule]
    )
    project.snakemake("--cores", "2", "--quiet", "all")
    new = next(path for path in project.path("results/tasks").glob("tiny-*/external-theirs-*/hyp") if path != old)
    assert (new / "hyp.law.txt").read_bytes() == changed.read_bytes()
    assert row(project).cells[1].mean != before.cells[1].mean
