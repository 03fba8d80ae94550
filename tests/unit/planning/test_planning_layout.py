"""The paths that `mdnmt plan` looks at are those that the workflow writes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from workflow.snakemake_project import Project

from mdnmt.planning import layout
from mdnmt.studies.places import Places
from mdnmt.studies.resolve import resolve
from mdnmt.studies.study import Study

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Study:
    monkeypatch.chdir(Project.create(tmp_path / "project").folder)
    return resolve(Path("config"), "tiny", Path("resources/corpora"), 2)


def workflow_places(study: Study) -> Places:
    """Return the PLACES of workflow/rules/common.smk: its functions are plain Python between two landmarks."""
    text = (ROOT / "workflow" / "rules" / "common.smk").read_text(encoding="utf-8")
    paths = text[text.index("def task_dir(") : text.index("def run_of(")]
    table = text[text.index("PLACES = Places(") : text.index("# The same for a page")]
    names: dict[str, Any] = {"STUDY": study, "Places": Places, "Path": Path}
    exec(f"{paths}\n{table}", names)
    found: Places = names["PLACES"]
    return found


def test_places_are_those_of_the_workflow(study: Study) -> None:
    ours, theirs = layout.places_of(study, Path("results")), workflow_places(study)
    for run in study.runs:
        for name in ("run", "test", "comet", "analysis"):
            assert getattr(ours, name)(run) == getattr(theirs, name)(run)
        told = run.told("wrong")
        assert ours.test(told) == theirs.test(told) != ours.test(run)
    for name in ("task", "labels", "copied", "ambiguity", "measure"):
        assert getattr(ours, name)("tiny") == getattr(theirs, name)("tiny")
    assert ours.significance("jiang2020-table2") == theirs.significance("jiang2020-table2")
    assert ours.table("jiang2020-table2", "json") == theirs.table("jiang2020-table2", "json")
    assert ours.figure("jiang2020-figure8", "png") == theirs.figure("jiang2020-figure8", "png")
    assert ours.runs_table == theirs.runs_table


def test_benchmark_records_stand_where_the_rules_write_them(study: Study) -> None:
    rules = "".join(
        (ROOT / "workflow" / "rules" / f"{name}.smk").read_text(encoding="utf-8")
        for name in ("train", "decode", "tasks")
    )
    run = study.runs[0]
    wildcards = {
        "task": run.task,
        "method": run.directory,
        "seed": run.seed,
        "fp": run.fingerprint,
        "split": run.split,
        "test_fp": study.decode_fingerprint(run),
    }
    written = {line.strip().strip('"').format(**wildcards) for line in rules.splitlines() if "logs/benchmarks/" in line}
    folder = Path("logs/benchmarks")
    assert str(layout.train_benchmark(folder, run.task, run.directory, run.seed, run.fingerprint)) in written
    assert str(layout.decode_benchmarks(folder, study, run)[-1]) in written
    assert str(layout.task_benchmark(folder, run.task, run.fingerprint)) in written


def test_names_of_runs_are_their_own(study: Study) -> None:
    names = [layout.name_of(run) for run in study.runs]
    assert len(set(names)) == len(names) == 4
