"""The options of runs: which entries of a study match, which layer wins, and which line is said to set a value."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from workflow.snakemake_project import Project

from mdnmt.cli import main
from mdnmt.config.loader import line_of
from mdnmt.errors import EXIT_USER, ConfigError
from mdnmt.studies.explain import Explained, explain
from mdnmt.studies.method_options import Options
from mdnmt.studies.resolve import resolve, resolve_options
from mdnmt.studies.study import Study

STUDY = "config/studies/tiny.yaml"
CONFIG = Path(__file__).resolve().parents[3] / "config"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    made = Project.create(tmp_path / "project")
    monkeypatch.chdir(made.folder)
    return made


def clips(project: Project, *matches: dict[str, Any], **changes: Any) -> dict[str, float]:
    """Return method -> clip_norm, which entry n of the study with these matches sets to n, from 1."""
    for number, match in enumerate(matches, 1):
        changes[f"options__{number}"] = {"match": match, "set": {"training": {"clip_norm": float(number)}}}
    project.update(STUDY, **changes)
    found = resolve(Path("config"), "tiny", Path("resources/corpora"))
    return {run.method: run.planned.training.clip_norm for run in found.runs if run.planned}


METHODS = {
    "methods": ["mixed", "waldm-edc", "waldm-edc-wl"],
    "variants": {"half": {"method": "waldm-edc", "label": "H", "architecture": {"proportion_smoothing": 0.5}}},
}


@pytest.mark.slow
def test_later_entries_win_over_earlier_ones(project: Project) -> None:
    found = clips(project, {"method": "waldm-edc"}, {"family": "waldm-edc"}, {"method": ["mixed", "half"]}, **METHODS)
    assert found == {"mixed": 3, "waldm-edc": 2, "waldm-edc-wl": 2, "half": 3}
    found = clips(project, {"family": "waldm-edc"}, {"method": "waldm-edc"}, {"method": "half", "task": "tiny"})
    assert found == {"mixed": 25, "waldm-edc": 2, "waldm-edc-wl": 1, "half": 3}
    assert clips(project, {}, {"method": "mixed"}, {"task": ["tiny"]}) == dict.fromkeys(found, 3)


def test_all_keys_of_a_match_must_agree(project: Project) -> None:
    found = clips(project, {"method": ["mixed", "waldm-edc"], "family": ["waldm-edc", "transformer"]}, **METHODS)
    assert found == {"mixed": 1, "waldm-edc": 1, "waldm-edc-wl": 25, "half": 1}
    found = clips(project, {"method": "mixed", "family": "waldm-edc"})
    assert set(found.values()) == {25}


@pytest.mark.slow
def test_a_variants_options_win_over_all_entries(project: Project) -> None:
    wide = {"half": {"method": "waldm-edc", "label": "H", "training": {"clip_norm": 0.5}}}
    assert clips(project, {"method": "half"}, variants=wide)["half"] == 0.5


def test_pretrained_weights_take_what_names_them(project: Project) -> None:
    methods = ["mixed", "mbart50-finetuned"]
    assert clips(project, {}, {"task": "tiny"}, methods=methods) == {"mixed": 2, "mbart50-finetuned": 25}
    assert clips(project, {}, {"family": "mbart50"})["mbart50-finetuned"] == 2


@pytest.mark.slow
def test_an_entry_is_also_for_the_stand_in_of_its_task() -> None:
    smoke = resolve(CONFIG, "smoke", Path("nowhere"))
    norms = {run.task: run.planned.architecture["norm"] for run in smoke.runs if run.method == "mixed" and run.planned}
    assert (norms["toy-jiang-zh-en"], norms["toy-jiang-en-de"]) == ("pre", "post")


def test_an_inherited_entry_may_name_what_the_study_lacks(project: Project) -> None:
    project.update(STUDY, options__1={"match": {"method": "waldm-edc"}, "set": {"training": {"clip_norm": 1.0}}})
    heir = {"like": "tiny", "methods": ["mixed"], "figures": {}, "title": "Heir"}
    project.write("config/studies/heir.yaml", heir)
    assert resolve(Path("config"), "heir", Path("resources/corpora")).runs
    project.update("config/studies/heir.yaml", options=[{"match": {"method": "waldm-edc"}, "set": {}}])
    with pytest.raises(ConfigError, match=r"heir\.yaml: options\.0\.match\.method: 'waldm-edc' is none"):
        resolve(Path("config"), "heir", Path("resources/corpora"))


def explained(study: Study, options: Options) -> dict[tuple[str, str, str], Explained]:
    rows = dict.fromkeys((run.task, run.method) for run in study.runs)
    return {(*row, one.key): one for row in rows for one in explain(study, options, *row)}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["paper", "smoke", "replication-deep", "replication-controls"])
def test_what_is_said_to_set_an_option_stands_there_and_decides(name: str) -> None:
    texts: dict[str, list[str]] = {}
    for (_, _, key), one in explained(*resolve_options(CONFIG, name, Path("nowhere"))).items():
        for setting in one.settings:
            file, _, line = setting.place.rpartition(":")
            text = texts.setdefault(file, Path(file).read_text().splitlines())[int(line) - 1]
            assert setting.option in text and f"{setting.option}: " in f"{text} ", (setting, text)
        if one.is_set:
            assert same(one.value, one.settings[-1].value), one
        else:  # weights on this machine's disk complete the options of a pretrained model
            assert same(one.value, one.default) or key in ("architecture.sha256", "architecture.languages"), one


def same(value: Any, other: Any) -> bool:
    return bool(value == (list(other) if isinstance(other, tuple) else other))


def test_lines_of_lists_anchors_and_merged_keys(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text("a: &a\n  b: 1\nlist:\n  - c: 2\n  - {<<: *a, d: 3}\n  - *a\n")
    assert line_of(path, ("a", "b")) == 2 and line_of(path, ("list", 0, "c")) == 4
    assert line_of(path, ("list", 1, "d")) == 5 and line_of(path, ("list", 1, "b")) == 2
    assert line_of(path, ("list", 2, "b")) == 2 and line_of(path, ("a", "x")) is None


def test_the_verb_names_the_line_and_what_it_overrides(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    project.update(STUDY, options__1={"match": {"method": "mixed"}, "set": {"training": {"learning_rate": 0.25}}})
    assert main(["explain", "tiny/tiny/mixed", "learning_rate"]) == 0
    head, first, second, default = capsys.readouterr().out.splitlines()
    lines = [n for n, line in enumerate(Path(STUDY).read_text().splitlines(), 1) if "learning_rate:" in line]
    assert "0.25" in head and f"{STUDY}:{lines[1]}: learning_rate: 0.25" in first
    assert f"{STUDY}:{lines[0]}: learning_rate: 0.005" in second and "0.0005" in default
    assert main(["explain", "tiny/tiny/mixed"]) == 0
    assert f"training.learning_rate: 0.25  {STUDY}:{lines[1]}" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments", [["tiny/tiny/mixd"], ["tiny/tiny/mixed", "learning_rat"], ["tiny"], ["tinny/a/b"]]
)
def test_mistakes_of_the_verb_are_one_line(
    project: Project, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", *arguments]) == EXIT_USER
    assert len(capsys.readouterr().err.splitlines()) == 1
