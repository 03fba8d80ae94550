"""The table of robustness has every method that is told the domain, and its rows are translations of their own."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from workflow.snakemake_project import Project

from mdnmt import fingerprint as fingerprints
from mdnmt.cli import main
from mdnmt.config.decoding import LABELS
from mdnmt.config.method import MethodConfig, MethodIndex
from mdnmt.config.paper import load_paper
from mdnmt.config.study import load_study
from mdnmt.errors import ConfigError
from mdnmt.exhibits.comparison import table_runs
from mdnmt.exhibits.table_request import table_spec
from mdnmt.exhibits.tables.scores import ScoreTable
from mdnmt.methods import BUILDERS, build, validate
from mdnmt.methods.method import VocabSizes
from mdnmt.operations.plan.exhibit_needs import table_needs
from mdnmt.studies.label_conditions import translations_of
from mdnmt.studies.resolve import resolve
from mdnmt.studies.result_paths import ResultPaths
from mdnmt.studies.study import Study

CONFIG = Path(__file__).resolve().parents[3] / "config"
STUDY = "config/studies/tiny.yaml"
KEY = "mdnmt-labels"


def needs_domain(name: str, method: MethodConfig) -> bool:
    if method.builder not in BUILDERS:
        return False
    options = validate(method.builder, {"share_embeddings": "none", **method.architecture}, where=name)
    with torch.device("meta"):
        return build(method.builder, options, VocabSizes(20, 20, True), 4).needs_domain


@pytest.mark.slow
def test_the_rows_are_exactly_the_methods_that_are_told_the_domain() -> None:
    own = load_study(CONFIG, "paper").tables[KEY].rows  # of readings that no paper prints a row for
    rows = [*load_paper(CONFIG, "mdnmt").tables["labels"].rows, *own]
    index = MethodIndex(CONFIG)
    told = {name for name in index.names if needs_domain(name, index.load(name))}
    assert {row.method for row in rows if row.labels == LABELS} == told - {"adapters"}  # of no paper
    assert [(row.method, row.labels) for row in rows if row.labels != LABELS] == [("mixed", ("given",))]


@pytest.mark.parametrize("name", ["paper", "smoke", "registry", "open", "registry-en-fr"])
def test_the_studies_have_the_table(name: str) -> None:
    assert KEY in load_study(CONFIG, name).tables


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    made = Project.create(tmp_path / "project")
    monkeypatch.chdir(made.folder)
    made.update(STUDY, methods=["mixed", "domain-tag"], tables={KEY: {"task": "tiny"}}, figures={}, seeds=2)
    return made


def study() -> Study:
    return resolve(Path("config"), "tiny", Path("resources/corpora"))


def test_each_thing_told_is_a_row_with_its_own_files(project: Project) -> None:
    made = study()
    places = ResultPaths(made, Path("results"))
    spec = table_spec(made, KEY, places)
    assert isinstance(spec, ScoreTable)
    rows = {row.method: row for row in spec.rows if row.group != "No training"}
    assert list(rows) == ["mixed", "domain-tag", *(f"domain-tag@{labels}" for labels in LABELS[1:])]
    assert [row.against for row in rows.values()] == [None] + ["domain-tag"] * 4
    assert rows["domain-tag@wrong"].label == "DomainTag, label wrong"
    folders = [run.scores.parent for row in rows.values() for run in row.runs]
    assert len(set(folders)) == len(folders) == 10
    assert spec.predicted_labels == Path(places.labels("tiny")) and spec.predicted_labels in spec.inputs()
    assert spec.significance is None
    assert len(table_runs(made, KEY)) == 10
    assert {run for row in table_needs(made, KEY, places).rows[2:] for run in row.runs} == {
        "tiny/domain-tag/seed1", "tiny/domain-tag/seed2",
    }  # fmt: skip


def test_the_address_leads_back_to_what_was_told(project: Project) -> None:
    made = study()
    run = made.runs_of("tiny", "domain-tag")[0]
    addresses = {made.decode_fingerprint(told): told.labels for told in translations_of(made, run)}
    assert list(addresses.values()) == list(LABELS)
    for address, labels in addresses.items():
        found = made.translation_of(run, address)
        assert (found.labels, found.fingerprint) == (labels, run.fingerprint)
        assert made.decoding_of(found).labels == labels
    assert translations_of(made, made.runs_of("tiny", "mixed")[0]) == [made.runs_of("tiny", "mixed")[0]]
    with pytest.raises(KeyError, match="no translations 01234567"):
        made.translation_of(run, "01234567")


def test_another_classifier_changes_the_addresses_of_what_is_told_its_guesses(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    def addresses() -> dict[str, str]:
        made = study()
        places, run = ResultPaths(made, Path("results")), made.runs_of("tiny", "domain-tag")[0]
        return {"file": places.labels("tiny"), **{labels: places.test(run.with_labels(labels)) for labels in LABELS}}

    before = addresses()
    monkeypatch.setitem(fingerprints.STAGE_VERSIONS, "labels", fingerprints.STAGE_VERSIONS["labels"] + 1)
    assert {name for name, path in addresses().items() if path != before[name]} == {"file", "predicted"}


def test_nothing_can_be_left_out_where_the_text_is_cut_by_domain(project: Project) -> None:
    project.update("config/tasks/tiny.yaml", segmentation__bpe="domain")
    made = study()
    spec = table_spec(made, KEY, ResultPaths(made, Path("results")))
    assert isinstance(spec, ScoreTable)
    missing = {row.method: row.missing for row in spec.rows if row.missing}
    assert list(missing) == ["domain-tag@missing"] and "codes of its domain" in str(missing["domain-tag@missing"])
    assert [run.labels for run in translations_of(made, made.runs_of("tiny", "domain-tag")[0])] == [
        "given", "wrong", "predicted",
    ]  # fmt: skip


def test_a_method_of_one_run_a_domain_has_no_labels(project: Project) -> None:
    rows = [{"group": "G", "method": "single", "labels": ["given", "wrong"]}]
    project.update(STUDY, methods=["mixed", "single"], tables={"jiang2020-table2": {"task": "tiny", "rows": rows}})
    with pytest.raises(ConfigError, match="labels: single is one run a domain"):
        study()
    rows[0].update(method="mixed", labels=["wrong", "wrong"])
    project.update(STUDY, tables={"jiang2020-table2": {"task": "tiny", "rows": rows}})
    with pytest.raises(ConfigError, match="labels are of one method, each once; found wrong, wrong"):
        study()


@pytest.mark.slow
def test_translations_told_otherwise_are_not_stale(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    made = study()
    places = ResultPaths(made, Path("results"))
    for run in table_runs(made, KEY):
        project.path(f"{places.test(run)}/hyp").mkdir(parents=True)
    other = project.path(f"{places.run(made.runs[0])}/test-01234567/hyp")
    other.mkdir(parents=True)
    assert main(["clean", "--stale"]) == 0
    printed = capsys.readouterr().out
    assert printed.count("test-") == 1 and "test-01234567" in printed
