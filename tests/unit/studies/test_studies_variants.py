"""Variants of a study: methods with other options, for sweeps and ablations."""

from __future__ import annotations

from pathlib import Path

import pytest
from workflow.snakemake_project import Project

from mdnmt.errors import ConfigError
from mdnmt.exhibits.request import paper_table
from mdnmt.studies.resolve import resolve
from mdnmt.studies.study import Run, Study

STUDY = "config/studies/tiny.yaml"
CONFIG = Path(__file__).resolve().parents[3] / "config"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    made = Project.create(tmp_path / "project")
    monkeypatch.chdir(made.folder)
    return made


def look() -> Study:
    return resolve(Path("config"), "tiny", Path("resources/corpora"))


def run_of(study: Study, method: str) -> Run:
    return next(run for run in study.runs if run.method == method)


def variant(**options: object) -> dict[str, object]:
    return {"method": "waldm-edc", "label": "half", **options}


def test_a_variant_is_a_method_with_other_options(project: Project) -> None:
    project.update(STUDY, variants={"half": variant(architecture={"proportion_smoothing": 0.5})})
    study = look()
    made, origin = run_of(study, "half"), run_of(study, "waldm-edc")
    assert made.spec is not None and origin.spec is not None
    assert (made.directory, made.label) == ("half", "half")
    assert made.spec.architecture == {**origin.spec.architecture, "proportion_smoothing": 0.5}
    assert made.spec.training == origin.spec.training and made.fingerprint != origin.fingerprint


def test_its_options_win_over_all_others(project: Project) -> None:
    project.update(
        STUDY,
        options__1={
            "match": {"method": "waldm-edc"},
            "set": {"architecture": {"ffn_dim": 40, "proportion_smoothing": 0.2}},
        },
        variants={"half": variant(architecture={"ffn_dim": 48}, training={"max_updates": 9})},
    )
    study = look()
    spec = run_of(study, "half").spec
    assert spec is not None
    assert (spec.architecture["ffn_dim"], spec.architecture["proportion_smoothing"]) == (48, 0.2)
    assert spec.training.max_updates == 9
    origin = run_of(study, "waldm-edc").spec
    assert origin is not None and origin.architecture["ffn_dim"] == 40 and origin.training.max_updates == 6


def test_a_variant_of_a_method_that_the_study_has_not_is_fine(project: Project) -> None:
    project.update(STUDY, methods=["mixed"], variants={"half": variant()})
    assert [run.method for run in look().runs] == ["mixed", "half"]


def test_a_variant_that_changes_nothing_shares_the_methods_identity(project: Project) -> None:
    project.update(STUDY, variants={"same": variant()})
    study = look()
    assert run_of(study, "same").fingerprint == run_of(study, "waldm-edc").fingerprint


@pytest.mark.parametrize(
    ("variants", "said"),
    [
        ({"mixed": variant()}, "there is a method of this name"),
        ({"waldm-encoder": variant()}, "there is a method of this name"),
        ({"half": {"method": "waldm-ed", "label": "x"}}, "did you mean 'waldm-edc'"),
        ({"half": variant(architecture={"proportion_smothing": 1})}, "proportion_smoothing"),
        ({"Half": variant()}, "Half"),
        ({"half": {"method": "mixed"}}, "label"),
    ],
)
def test_mistakes_are_one_line(project: Project, variants: dict[str, object], said: str) -> None:
    project.update(STUDY, variants=variants)
    with pytest.raises(ConfigError, match=said):
        look()


def test_a_variant_that_is_listed_as_a_method_too_is_one_line(project: Project) -> None:
    project.update(STUDY, methods=["mixed", "half"], variants={"half": variant()})
    with pytest.raises(ConfigError, match="methods: half is a variant and is trained anyway; remove it"):
        look()


def test_the_synthetic_study_shows_every_run_it_makes() -> None:
    study = resolve(CONFIG, "synthetic", CONFIG)
    for key, task in (("synthetic-words2", "synthetic-2"), ("synthetic-words4", "synthetic-4")):
        table, made_from = paper_table(study, key)
        assert made_from.name == task
        assert {row.method for row in table.rows} == set(study.methods), "a row for each method, and no other"
        assert all(row.knows for row in table.rows)
    assert {run.task for run in study.runs} == {"synthetic-2", "synthetic-4"} and not any(r.missing for r in study.runs)
