"""Tables of validation text: what is translated for them, and where it stands; no other address changes."""

from __future__ import annotations

from pathlib import Path

import pytest
from workflow.snakemake_project import Project

from mdnmt.config.loader import validate_model
from mdnmt.config.metrics import METRICS
from mdnmt.config.paper import PaperTable, load_paper
from mdnmt.errors import ConfigError
from mdnmt.exhibits.comparison import table_runs
from mdnmt.exhibits.table_request import table_spec
from mdnmt.exhibits.tables.scores import ScoreTable
from mdnmt.fingerprint import fingerprint
from mdnmt.operations.plan.benchmark_paths import decode_benchmarks
from mdnmt.operations.plan.run_plan import RunPlanner
from mdnmt.studies.label_conditions import needs_validation, translations_of
from mdnmt.studies.resolve import resolve
from mdnmt.studies.result_paths import ResultPaths
from mdnmt.studies.study import Study

ROOT = Path(__file__).resolve().parents[3]
CONFIG = ROOT / "config"
RESULTS = Path("results")


@pytest.fixture(scope="module")
def smoke() -> Study:
    return resolve(CONFIG, "smoke", ROOT / "resources" / "corpora")


@pytest.fixture(scope="module")
def paper() -> Study:
    return resolve(CONFIG, "paper", ROOT / "resources" / "corpora")


def score_table(study: Study, key: str) -> ScoreTable:
    spec = table_spec(study, key, ResultPaths(study, RESULTS))
    assert isinstance(spec, ScoreTable)
    return spec


def test_translations_of_test_text_keep_their_address(smoke: Study) -> None:
    for run in smoke.makeable():
        decoding = smoke.decoding[run.task].model_dump(mode="json")
        assert smoke.decode_fingerprint(run) == fingerprint("decode", decoding)
        assert smoke.decode_fingerprint(run.on("valid")) == fingerprint("decode", {**decoding, "split": "valid"})


def test_validation_text_is_translated_where_a_table_asks_for_it_and_nowhere_else(smoke: Study) -> None:
    wanted = {
        (smoke.config.tables[key].task, name)
        for key in smoke.config.tables
        for table in (smoke.papers[key.partition("-")[0]].tables[key.partition("-")[2]],)
        if needs_validation(table)
        for row in (*table.rows, *smoke.config.tables[key].rows)
        for name in row.methods
    }
    found = {
        (run.task, run.method)
        for run in smoke.makeable()
        if any(one.split == "valid" for one in translations_of(smoke, run))
    }
    assert found == wanted
    tasks = {task for task, _ in found}
    assert {smoke.config.tables[f"jiang2020-table{number}"].task for number in (2, 3, 4)} < tasks
    assert smoke.config.tables["song2026-table3"].task not in tasks
    assert any(run.task in tasks and (run.task, run.method) not in found for run in smoke.makeable())


def test_the_address_leads_back_to_the_split(smoke: Study) -> None:
    run = next(run for run in smoke.makeable() if len(translations_of(smoke, run)) > 1)
    for one in translations_of(smoke, run):
        assert smoke.translation_of(run, smoke.decode_fingerprint(one)) == one
    folders = [ResultPaths(smoke, RESULTS).test(one) for one in translations_of(smoke, run)]
    assert len({*folders}) == len(folders) and {Path(name).name.partition("-")[0] for name in folders} >= {"valid"}


@pytest.mark.parametrize("number", [2, 3, 4])
def test_the_tables_of_jiang_hold_the_printed_numbers_against_both_texts(smoke: Study, number: int) -> None:
    test, valid = (score_table(smoke, f"jiang2020-table{number}{end}") for end in ("", "-validation"))
    assert (test.split, valid.split) == ("test", "valid")
    trained = [row for row in test.rows if row.group != "No training" and not row.models]
    assert [row.method for row in valid.rows] == [row.method for row in trained]
    assert [row.printed for row in valid.rows] == [row.printed for row in trained]
    assert {run.scores.parent.name[:6] for row in valid.rows for run in row.runs} == {"valid-"}
    assert {run.scores.parent.name[:5] for row in test.rows for run in row.runs if run.seed is not None} == {"test-"}
    assert valid.significance is None and test.significance is not None
    assert table_runs(smoke, f"jiang2020-table{number}-validation") == []
    assert test.notes != valid.notes and all("valid1" in " ".join(spec.notes) for spec in (test, valid))


def test_the_development_column_of_zhang_stands_for_one_pair_only(smoke: Study) -> None:
    spec = score_table(smoke, "zhang2021-table3-zh-en")
    runs = [run for row in spec.rows for run in row.runs if run.seed is not None]
    assert spec.development and runs and all(run.development for run in runs)
    assert {run.development for run in runs} <= set(spec.inputs())
    other = score_table(smoke, "zhang2021-table3-en-fr")
    assert not other.development and not any(run.development for row in other.rows for run in row.runs)


def test_the_printed_development_score_stands_in_its_column(paper: Study) -> None:
    rows = {row.method: row.printed for row in score_table(paper, "zhang2021-table3-zh-en").rows}
    printed = {method: numbers["bleu/dev"].raw for method, numbers in rows.items() if "bleu/dev" in numbers}
    assert printed == {"mixed": "29.72", "domain-tag": "28.18", "dsa": "29.84", "dsa-guided": "30.16"}


def test_the_plan_counts_the_sentences_of_validation_text(tmp_path: Path, paper: Study) -> None:
    task = paper.tasks["zhang-en-fr"]
    run = next(run for run in paper.runs_of(task.name, "mixed"))
    sizes = {split: sum(getattr(one, split) for one in task.config.domains.values()) for split in ("valid", "test")}
    planner = RunPlanner.__new__(RunPlanner)
    planner.study = paper
    assert sizes["valid"] != sizes["test"]
    assert (planner._sentences(run), planner._sentences(run.on("valid"))) == (sizes["test"], sizes["valid"])
    name = f"decode-{run.task}-{run.directory}-seed{run.seed}-{run.fingerprint}"
    for split in ("test", "valid"):
        (tmp_path / f"{name}-{split}-01234567.jsonl").touch()
    assert decode_benchmarks(tmp_path, paper, run)[0].name == f"{name}-test-01234567.jsonl"
    assert not any("valid" in path.name for path in decode_benchmarks(tmp_path, paper, run))


TABLE = load_paper(CONFIG, "jiang2020").tables["table2-validation"].model_dump()
REFUSED = {
    "resources": ({"kind": "resources"}, "split: valid belongs in tables of kind scores"),
    "labels": ({"rows": [{"group": "", "method": "dsa", "labels": ["wrong"]}]}, "given the right labels"),
    "comet": ({"metrics": ["bleu", "comet"]}, "comet is computed only for test text"),
    "both": ({"development": True}, "development is a column beside test scores"),
    "average": ({"split": "test", "development": True, "shows": "average"}, "expected shows: domains"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_table_of_validation_text_cannot_show_is_refused(name: str) -> None:
    change, said = REFUSED[name]
    with pytest.raises(ConfigError, match=said):
        validate_model({**TABLE, **change}, PaperTable, "table")
    assert {name for name, about in METRICS.items() if about.file != "scores.json"} == {"ter", "length_ratio", "comet"}


def test_a_study_cannot_ask_for_comet_of_validation_text(tmp_path: Path) -> None:
    project = Project.create(tmp_path / "project")
    shown = {"task": "tiny", "metrics": ["bleu", "comet"]}
    project.update("config/studies/tiny.yaml", tables={"jiang2020-table2-validation": shown})
    with pytest.raises(ConfigError, match=r"tables.jiang2020-table2-validation.*comet is computed only for test text"):
        resolve(project.path("config"), "tiny", project.path("resources/corpora"))
