"""The study of generated text in the workflow: nothing is fetched, and words are counted instead of scored."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from workflow.snakemake_project import SIZES, TRAINING, Project

pytestmark = pytest.mark.slow

STUDY = "config/studies/synthetic.yaml"


@pytest.fixture
def small(tmp_path: Path) -> Project:
    """Return a project whose study of generated text has one method, one task and hardly any text."""
    project = Project.create(tmp_path / "project")
    domains = {f"domains__{name}__{split}": n for name in ("north", "south") for split, n in PAIRS.items()}
    project.update("config/tasks/synthetic-2.yaml", **domains)
    for name in ("north", "south"):
        project.update(f"config/corpora/synthetic-{name}.yaml", reader__sentences=200)
    project.update(
        STUDY,
        methods=["mixed"],
        tasks=["synthetic-2"],
        variants={"wide": {"method": "mixed", "label": "Wide", "architecture": {"ffn_dim": 40}}},
        options=[{"set": {"architecture": SIZES, "training": TRAINING}}],
        tables={"synthetic-words2": {"task": "synthetic-2", "rows": [{"group": "Ours", "method": "wide"}]}},
        figures={"synthetic-smoothing2": {"task": "synthetic-2"}},
    )
    return project


PAIRS = {"train": 60, "valid": 5, "test": 6}
TABLE = "results/synthetic/tables/synthetic-words2"


def test_from_a_grammar_to_a_table(small: Project) -> None:
    small.snakemake("--cores", "2", "--config", "study=synthetic", "--", f"{TABLE}.md")
    table = small.path(f"{TABLE}.md").read_text()
    assert "| Told nothing | Mixed |" in table and "| Ours | Wide |" in table and "The best there is" in table
    files = sorted(small.folder.glob("results/runs/synthetic-2/*/seed1-*/test-*/words.json"))
    assert [path.parts[-4] for path in files] == ["mixed", "wide"]
    for path in files:
        counts = json.loads(path.read_text())["domains"]
        assert set(counts) == {"north", "south"} and all(c["common"]["words"] > 0 for c in counts.values())
    # What is there is shown by itself, and a second plan has nothing left to count.
    left = small.plan("--config", "study=synthetic")
    assert "word_accuracy" not in left.rules and not left.rules & {"score", "significance", "measure", "fetch", "task"}
    assert {"figure", "report", "numbers"} <= left.rules
