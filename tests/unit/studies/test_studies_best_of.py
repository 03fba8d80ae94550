"""What a study makes of a row that names several methods."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from workflow.snakemake_project import Project

from mdnmt.errors import ConfigError
from mdnmt.exhibits.table_request import table_spec
from mdnmt.report import report_selection
from mdnmt.studies.resolve import resolve
from mdnmt.studies.result_paths import ResultPaths
from mdnmt.studies.study import Study

STUDY, PAPER = "config/studies/tiny.yaml", "config/papers/choice.yaml"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    made = Project.create(tmp_path / "project")
    monkeypatch.chdir(made.folder)
    labels = {"alone": "{domain} only", "alone-wide": "{domain} only (wide)", "wide": "Wide"}
    for name, label in labels.items():
        train_on = "each" if "{domain}" in label else "all"
        made.write(f"config/methods/{name}.yaml", {"label": label, "builder": "transformer", "train_on": train_on})
    rows = [
        {"group": "G", "best_of": ["alone", "alone-wide"]},
        {"group": "G", "best_of": ["mixed", "wide"], "label": "All text"},
        {"group": "G", "method": "waldm-edc"},
    ]
    tables = {
        "one": {"kind": "scores", "title": "T", "rows": rows},
        "two": {"kind": "resources", "title": "T", "rows": rows[1:]},
    }
    made.write(PAPER, {"title": "P", "citation": "C", "tables": tables})
    tables_of_study = {"choice-one": {"task": "tiny"}, "choice-two": {"task": "tiny"}}
    made.update(STUDY, tables=tables_of_study, figures={}, seeds=2, copy_source=False)
    return made


def study(project: Project, *methods: str) -> Study:
    project.update(STUDY, methods=list(methods))
    return resolve(Path("config"), "tiny", Path("resources/corpora"))


def table(found: Study, key: str = "choice-one", *, partial: bool = False) -> Any:
    return table_spec(found, key, ResultPaths(found, Path("results")), partial=partial)


def told(found: Study) -> list[str]:
    missing = report_selection.report_spec(found, ResultPaths(found, Path("results")), ()).missing
    return [what for what, why in missing if "no table" in why]


def record(found: Study, method: str, seed: int) -> Path:
    return Path(ResultPaths(found, Path("results")).run(found.runs_of("tiny", method)[seed - 1]), "run.json")


def test_rivals_share_a_number_and_bring_the_records_of_all_seeds(project: Project) -> None:
    found = study(project, "mixed", "wide", "alone", "alone-wide", "waldm-edc")
    spec = table(found)
    assert [(row.method, row.label, row.choice) for row in spec.rows] == [
        ("alone-economy", "Economy only", 1),
        ("alone-wide-economy", "Economy only (wide)", 1),
        ("alone-law", "Law only", 2),
        ("alone-wide-law", "Law only (wide)", 2),
        ("mixed", "All text", 3),
        ("wide", "All text", 3),
        ("waldm-edc", "E/DC", None),
    ]
    assert spec.rows[5].records == (record(found, "wide", 1), record(found, "wide", 2))
    assert spec.rows[6].records == ()
    resources = table(found, "choice-two")
    assert [(row.method, row.choice, len(row.records)) for row in resources.rows] == [
        ("mixed", 1, 2),
        ("wide", 1, 2),
        ("waldm-edc", None, 0),
    ]
    assert told(found) == []


def test_a_study_with_one_of_them_shows_that_one(project: Project) -> None:
    spec = table(study(project, "mixed", "alone-wide", "waldm-edc"))
    assert [row.method for row in spec.rows] == ["alone-wide-economy", "alone-wide-law", "mixed", "waldm-edc"]
    assert {(row.choice, row.records) for row in spec.rows} == {(None, ())}
    assert spec.notes == ("Not part of this study: alone, wide.",)


def test_a_row_none_of_whose_methods_is_there_is_left_out_and_named(project: Project) -> None:
    spec = table(study(project, "mixed", "wide"))
    assert [row.method for row in spec.rows] == ["mixed", "wide"]
    assert spec.notes == ("Not part of this study: alone, alone-wide, waldm-edc.",)


def test_the_baseline_is_named_as_its_methods_label(project: Project) -> None:
    project.update(STUDY, tables={"choice-one": {"task": "tiny"}})
    spec = table(study(project, "mixed", "wide"))
    assert (spec.baseline, spec.baseline_label) == ("mixed", "Mixed")


def test_a_method_that_no_table_shows_is_said_to_be_trained_only_if_it_can_be(project: Project) -> None:
    # The weights of mBART-50 are not here.
    found = study(project, "mixed", "domain-tag", "mbart50-finetuned")
    assert [run.spec is None for run in found.runs_of("tiny", "mbart50-finetuned")] == [True, True]
    assert told(found) == ["Method domain-tag"]


def test_a_partial_table_has_the_records_that_are_there(project: Project) -> None:
    found = study(project, "mixed", "wide")
    second = record(found, "wide", 2)
    second.parent.mkdir(parents=True)
    second.write_text("{}")
    assert [row.records for row in table(found, partial=True).rows] == [(), (second,)]


def test_methods_that_are_trained_on_different_text_are_no_choice(project: Project) -> None:
    choice = {"kind": "scores", "title": "T", "rows": [{"group": "G", "best_of": ["mixed", "alone"]}]}
    project.update(PAPER, tables={"one": choice, "two": choice})
    with pytest.raises(ConfigError) as caught:
        study(project, "mixed", "alone")
    assert "papers/choice.yaml: tables.one: best_of: mixed has train_on: all, alone has train_on: each" in str(
        caught.value
    )
    assert "\n" not in str(caught.value)
    study(project, "mixed")


def test_methods_of_the_studys_own_rows_are_held_to_the_same(project: Project) -> None:
    own = {"task": "tiny", "rows": [{"group": "G", "best_of": ["mixed", "alone"]}]}
    project.update(STUDY, tables={"choice-one": own})
    with pytest.raises(ConfigError, match=r"studies/tiny.yaml: tables.choice-one.rows: best_of: mixed has train_on"):
        study(project, "mixed", "alone")
