"""Methods that start from another method's trained model: planned by its address, or refused in one line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from workflow.snakemake_project import Project

from mdnmt.errors import ConfigError
from mdnmt.studies.resolve import resolve
from mdnmt.studies.study import Study

STUDY, INIT = "config/studies/tiny.yaml", "config/methods/waldm-edc.yaml"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    made = Project.create(tmp_path / "project")
    monkeypatch.chdir(made.folder)
    return made


def look() -> Study:
    return resolve(Path("config"), "tiny", Path("resources/corpora"))


def test_a_run_is_planned_with_the_address_of_its_start(project: Project) -> None:
    project.update(STUDY, methods=["waldm-edc-init", "mixed", "waldm-edc"], seeds=2)
    study = look()
    for seed in (1, 2):
        first, mixed, plain = (run for run in study.runs if run.seed == seed)
        assert study.start_of(first) == mixed and study.start_of(mixed) is None and study.start_of(plain) is None
        assert first.fingerprint != plain.fingerprint
    before = {(run.method, run.seed): run.fingerprint for run in study.runs}
    project.update(STUDY, options__1={"match": {"method": "mixed"}, "set": {"training": {"clip_norm": 3.0}}})
    after = {(run.method, run.seed): run.fingerprint for run in look().runs}
    # Another start is another run, although its own options are the same.
    assert {method for method, seed in before if before[method, seed] != after[method, seed]} == {
        "mixed",
        "waldm-edc-init",
    }


def test_each_seed_needs_that_of_its_start(project: Project) -> None:
    project.update(STUDY, methods=["waldm-edc-init", "mixed"], seeds=1, seeds_of={"mixed": 3})
    assert {run.seed for run in look().runs if run.method == "waldm-edc-init"} == {1}
    project.update(STUDY, seeds_of={"waldm-edc-init": 2})
    with pytest.raises(ConfigError, match="'waldm-edc-init' with seed 2 starts from 'mixed' with the same seed"):
        look()


def test_one_model_a_domain_may_start_from_the_mixed_one(project: Project) -> None:
    project.update("config/methods/transformer.yaml", methods__single__initialise_from="mixed")
    project.update(STUDY, methods=["single", "mixed"])
    study = look()
    [mixed] = study.runs_of("tiny", "mixed")
    singles = study.runs_of("tiny", "single")
    assert len(singles) == 2 and all(study.start_of(run) == mixed for run in singles)


@pytest.mark.parametrize(
    ("methods", "start", "said"),
    [
        (["waldm-edc-init", "waldm-edc"], "mixed", "'waldm-edc-init' starts from the trained model of 'mixed', which"),
        (["waldm-edc-init", "waldm-edc", "single"], "single", "expected a method with train_on: all"),
        (["waldm-edc-init", "waldm-edc"], "waldm-edc-init", "that starts from none itself"),
        (["waldm-edc-init", "waldm-edc", "mbart50-finetuned"], "mbart50-finetuned", "and neither of them pretrained"),
    ],
)
def test_a_start_that_cannot_be_is_one_line(project: Project, methods: list[str], start: str, said: str) -> None:
    project.update(INIT, **{"methods__waldm-edc-init__initialise_from": start})
    changes: dict[str, Any] = {"methods": methods, "comparison": {"baseline": "waldm-edc"}}
    project.update(STUDY, **changes)
    with pytest.raises(ConfigError) as caught:
        look()
    assert said in str(caught.value) and "\n" not in str(caught.value)
    assert "studies/tiny.yaml: methods" in str(caught.value)
