"""External systems in a study: mistakes are one line, content decides the address, tables have rows for them."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import pytest
from workflow.snakemake_project import WORDS, Project

from mdnmt.errors import ConfigError
from mdnmt.exhibits.comparison import comparison
from mdnmt.exhibits.figure_request import figure_spec
from mdnmt.exhibits.number_sources import number_sources
from mdnmt.exhibits.seed_scores import Measured
from mdnmt.exhibits.table_request import table_spec
from mdnmt.exhibits.tables import scores
from mdnmt.exhibits.tables.scores import ScoreTable
from mdnmt.fsio import write_sealed
from mdnmt.operations.plan.exhibit_needs import table_needs
from mdnmt.operations.stale_results import find_stale
from mdnmt.studies.external_systems import check_external
from mdnmt.studies.resolve import resolve
from mdnmt.studies.result_paths import ResultPaths
from mdnmt.studies.study import Study

STUDY, KEY = "config/studies/tiny.yaml", "jiang2020-table2"
OPUS: dict[str, Any] = {"label": "OPUS", "provenance": "Somebody,\nin 2024", "hypotheses": {"tiny": "opus"}}
METRICS = ["bleu", "ter", "comet", "perplexity"]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    made = Project.create(tmp_path / "project")
    monkeypatch.chdir(made.folder)
    for folder in ("opus", "other"):
        Path(folder).mkdir()
        for name in WORDS:
            Path(folder, f"hyp.{name}.txt").write_text(f"{folder}\n" * 5)
    made.update(STUDY, seeds=2, external={"opus": OPUS}, tables={KEY: {"task": "tiny"}}, figures={})
    return made


def study() -> Study:
    return resolve(Path("config"), "tiny", Path("resources/corpora"))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"provenance": " "}, "external.opus.provenance: this is text for people"),
        ({"provenance": "a\x1b[31m"}, "external.opus.provenance: this is text for people"),
        ({"hypotheses": {"tiny": []}}, "tiny: expected a folder, or a list of different folders"),
        ({"hypotheses": {"tiny": ["opus", "opus"]}}, "tiny: expected a folder, or a list of different folders"),
        ({"hypotheses": {"tinny": "opus"}}, "external.opus.hypotheses: 'tinny' is none of the study's tasks"),
        ({"hypotheses": {"tiny": "opsu"}}, "external.opus.hypotheses.tiny: opsu: no such folder"),
        ({"tables": ["jiang2020-table3"]}, "external.opus.tables: 'jiang2020-table3' is none of the study's tables"),
        ({"tables": ["song2026-table4"]}, "external.opus.tables: song2026-table4 has no room for it"),
        ({"labels": "OPUS"}, "unknown key 'external.opus.labels' (did you mean 'label'?)"),
    ],
)
def test_mistakes_are_one_line(project: Project, changes: dict[str, Any], said: str) -> None:
    tables = {KEY: {"task": "tiny"}, "song2026-table4": {"task": "tiny"}}
    project.update(STUDY, external={"opus": {**OPUS, **changes}}, tables=tables)
    with pytest.raises(ConfigError) as error:
        study()
    assert said in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize("name", ["copy-source", "mixed", "dsa", "single-law"])
def test_a_row_has_a_name_of_its_own(project: Project, name: str) -> None:
    project.update(STUDY, external={name: OPUS})
    with pytest.raises(ConfigError, match=f"external.{name}: a method has rows of this name"):
        study()


def test_a_task_without_a_table_of_scores_is_refused(project: Project) -> None:
    project.update(STUDY, tables={"song2026-table4": {"task": "tiny"}})
    with pytest.raises(
        ConfigError, match=r"external\.opus\.hypotheses: no table of test scores is made from task tiny"
    ):
        study()


def test_two_seeds_with_the_same_text_are_refused(project: Project) -> None:
    for name in WORDS:
        Path("other", f"hyp.{name}.txt").write_text("opus\n" * 5)
    project.update(STUDY, external={"opus": {**OPUS, "hypotheses": {"tiny": ["opus", "other"]}}})
    with pytest.raises(ConfigError, match="other has the same translations as opus"):
        study()


def test_the_test_set_is_known_before_the_task_is_built(project: Project) -> None:
    Path("opus/hyp.law.txt").write_text("opus\n" * 4)
    with pytest.raises(ConfigError, match=r"hyp\.law\.txt: 4 lines, but task tiny has 5 test sentences of law"):
        study()


def test_a_built_task_is_compared_line_by_line(project: Project) -> None:
    found = study()
    places = ResultPaths(found, Path("results"))
    check_external(found, places)  # nothing to compare with yet
    folder = Path(places.task("tiny"))
    (folder / "text").mkdir(parents=True)
    for name in WORDS:
        (folder / f"text/test.{name}.en").write_text("a\n" * 6)
    write_sealed(folder / "task.json", {"source_lang": "en", "target_lang": "fr", "domains": list(WORDS)})
    with pytest.raises(ConfigError, match=r"external\.opus\.hypotheses\.tiny: opus/hyp\.economy\.txt: 5 lines, but "):
        check_external(found, places)


def test_content_decides_the_address(project: Project) -> None:
    def address() -> str:
        found = study()
        return ResultPaths(found, Path("results")).external(found.external[0])

    before = address()
    assert "/external-opus-" in before
    project.update(STUDY, external={"opus": {**OPUS, "label": "O", "provenance": "Another", "redistributable": True}})
    Path("opus").rename("elsewhere")
    project.update(STUDY, external={"opus": {**OPUS, "hypotheses": {"tiny": "elsewhere"}}})
    assert address() == before
    project.update(STUDY, decoding={"beam_size": 2, "max_sentences": 3})
    limited = address()
    Path("elsewhere/hyp.law.txt").write_text("opus\n" * 4 + "Opus\n")
    assert len({before, limited, address()}) == 3


def test_a_table_has_its_row_marked_and_tested(project: Project) -> None:
    project.update(
        STUDY,
        external={"opus": {**OPUS, "hypotheses": {"tiny": ["opus", "other"]}}},
        tables={KEY: {"task": "tiny", "metrics": METRICS}},
        comet={"name": "toy-comet"},
    )
    found = study()
    places = ResultPaths(found, Path("results"))
    table = table_spec(found, KEY, places)
    assert isinstance(table, ScoreTable)
    row = table.rows[-1]
    folders = [places.external(one) for one in found.external]
    assert (row.label, row.method, row.external) == (
        "OPUS (external)",
        "opus",
        "Somebody, in 2024; test text in its training data: unknown",
    )
    assert [run.seed for run in row.runs] == [1, 2]
    assert [str(run.scores) for run in row.runs] == [f"{folder}/scores.json" for folder in folders]
    assert [path.name.partition("-")[0] for path in row.runs[0].others] == ["ter.json", "comet"]
    tests = comparison(found, KEY, places)
    assert tests["systems"]["opus"] == {"1": f"{folders[0]}/hyp", "2": f"{folders[1]}/hyp"}
    assert set(tests["comet"]["opus"]) == {"1", "2"}
    grid = table.model_copy(update={"rows": (row.model_copy(update={"runs": ()}),), "significance": None}).build()
    assert [grid.reasons[mark] for mark in grid.rows[0].marks] == [
        "not trained here: Somebody, in 2024; test text in its training data: unknown",
        "no Perplexity: computed from the model, and there are only its translations",
        "no run",
    ]


@pytest.mark.parametrize(("bleu", "is_noted"), [(100.0, True), (99.99, False)])
def test_translations_equal_to_the_references_are_noted(project: Project, bleu: float, is_noted: bool) -> None:
    found = study()
    table = table_spec(found, KEY, ResultPaths(found, Path("results")))
    assert isinstance(table, ScoreTable)
    numbers = {("bleu", "economy"): Measured((100.0,), (1,)), ("bleu", "law"): Measured((bleu,), (1,))}
    reasons = scores._external(table, table.rows[-1], numbers)
    assert any("equal the references" in reason for reason in reasons) == is_noted


def test_one_output_is_held_against_the_first_seed(project: Project) -> None:
    project.update(STUDY, seeds=[7, 5])
    found = study()
    tests = comparison(found, KEY, ResultPaths(found, Path("results")))
    assert set(tests["systems"]["mixed"]) == {"5", "7"} and set(tests["systems"]["opus"]) == {"5"}


@pytest.mark.slow
def test_only_the_tables_that_it_names_have_a_row(project: Project) -> None:
    other = "jiang2020-table3"
    tables = {key: {"task": "tiny"} for key in (KEY, other, "song2026-table4")}
    project.update(STUDY, tables=tables)
    assert [key for key in tables if _has_row(key)] == [KEY, other]
    project.update(STUDY, external={"opus": {**OPUS, "tables": [other]}})
    assert [key for key in tables if _has_row(key)] == [other]


def _has_row(key: str) -> bool:
    found = study()
    table: Any = table_spec(found, key, ResultPaths(found, Path("results")))
    return any(row.method == "opus" for row in table.rows)


def test_numbers_plan_figures_and_cleaning_know_it(project: Project) -> None:
    project.update(STUDY, figures={"mdnmt-effects": {"task": "tiny"}})
    found = study()
    places = ResultPaths(found, Path("results"))
    folder = Path(places.external(found.external[0]))
    [source] = [one for one in number_sources(found, places).sources if one.method == "opus"]
    assert (source.variant, source.seed, source.path) == ("external", 1, folder / "scores.json")
    needs = {row.label: row for row in table_needs(found, KEY, places).rows}["OPUS (external)"]
    assert needs.runs == () and needs.absent == {} and not needs.is_ready
    assert folder / "scores.json" in figure_spec(found, "mdnmt-effects", places).inputs()
    for path in (folder, folder.with_name("external-opus-01234567")):
        path.mkdir(parents=True)
    assert [one.folder for one in find_stale([found], Path("results"))[0]] == [
        Path(f"{folder.parent}/external-opus-01234567")
    ]


def test_a_study_with_none_has_the_specs_that_it_had(project: Project) -> None:
    project.update(STUDY, external={})
    found = study()
    places = ResultPaths(found, Path("results"))
    assert set(comparison(found, KEY, places)["systems"]) == {"mixed", "waldm-edc"}
    assert comparison(found, KEY, places)["comet"] == {}
    with contextlib.suppress(ConfigError):
        check_external(found, places)
