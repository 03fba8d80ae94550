"""From the metrics that a study or a paper names to the files that are made, and to the number that is held against."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from workflow.snakemake_project import Project

from mdnmt.config.paper import load_paper
from mdnmt.errors import ConfigError
from mdnmt.exhibits.comparison import comparison, is_tested
from mdnmt.exhibits.table_request import table_spec
from mdnmt.exhibits.tables.scores import ScoreTable
from mdnmt.studies.resolve import resolve
from mdnmt.studies.study import Study

CONFIG = Path(__file__).resolve().parents[3] / "config"


class Nowhere:
    """Paths that mean nothing but what they are of."""

    def __getattr__(self, kind: str) -> Any:
        return lambda *args: f"{kind}/{getattr(args[0], 'directory', args[0])}"


def spec_of(study: Study, key: str) -> Any:
    places: Any = Nowhere()
    return table_spec(study, key, places)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    made = Project.create(tmp_path / "project")
    monkeypatch.chdir(made.folder)
    rows = [{"group": "G", "method": "mixed"}, {"group": "G", "method": "waldm-edc"}]
    made.write(
        "config/papers/own.yaml",
        {
            "title": "P",
            "citation": "C",
            "tables": {
                "one": {"kind": "scores", "title": "T", "rows": rows, "metrics": ["bleu", "comet"]},
            },
        },
    )
    return made


def tiny(project: Project, **shown: Any) -> Study:
    project.update(
        "config/studies/tiny.yaml",
        tables={"own-one": {"task": "tiny", **shown}},
        figures={},
        methods=["mixed", "waldm-edc"],
        comet={"name": "toy-comet"},
    )
    return resolve(Path("config"), "tiny", Path("resources/corpora"))


def test_ter_is_made_where_a_table_names_it_and_nowhere_else(project: Project) -> None:
    plain = [path.as_posix() for path in spec_of(tiny(project), "own-one").inputs()]
    assert not any("ter.json" in path for path in plain)
    assert "comet/mixed" in plain
    study = tiny(project, metrics=["bleu", "ter", "perplexity"])
    spec = spec_of(study, "own-one")
    assert isinstance(spec, ScoreTable) and spec.metrics == ("bleu", "ter", "perplexity")
    asked = [path.as_posix() for path in spec.inputs()]
    assert {"test/mixed/ter.json", "test/waldm-edc/ter.json", "test/mixed/scores.json"} <= set(asked)
    assert "comet/mixed" not in asked


def test_a_metric_that_there_is_not_is_a_mistake(project: Project) -> None:
    with pytest.raises(ConfigError, match="metrics"):
        tiny(project, metrics=["bleurt"])


def test_what_phan_prints_is_of_pieces_and_stays_incomparable() -> None:
    table = load_paper(CONFIG, "phan2022").tables["results"]
    assert table.metrics == ("bleu", "bleu_tok") and table.printed_metrics == {"bleu_tok": ("BLEU",)}
    assert "pieces" in table.metric_differs["bleu_tok"]


def test_numbers_that_are_neither_good_nor_bad_are_not_tested(project: Project) -> None:
    places: Any = Nowhere()
    study = tiny(project, metrics=["bleu", "length_ratio"])
    assert is_tested(study, "own-one")
    assert comparison(study, "own-one", places)["metrics"] == ["bleu"]
    assert not is_tested(tiny(project, metrics=["length_ratio"]), "own-one")
