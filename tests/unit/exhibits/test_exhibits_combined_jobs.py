"""Combined jobs make the COMET scores, figures and tables that a study shows, and no others."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from mdnmt.exhibits.combined_jobs import (
    comet_commands,
    comet_runs,
    figure_parts,
    table_parts,
)
from mdnmt.exhibits.comparison import comparison
from mdnmt.exhibits.figure_request import figure_spec
from mdnmt.exhibits.spec_files import rule_inputs
from mdnmt.exhibits.table_request import table_spec
from mdnmt.score.metrics.comet_files import segments_of
from mdnmt.studies.resolve import resolve
from mdnmt.studies.result_paths import ResultPaths
from mdnmt.studies.study import Study

ROOT = Path(__file__).resolve().parents[3]


def study(name: str) -> Study:
    return resolve(ROOT / "config", name, ROOT / "resources" / "corpora")


def test_scores_are_those_that_tables_are_made_of() -> None:
    smoke = study("smoke")
    places = ResultPaths(smoke, Path("results"))
    runs = comet_runs(smoke, places)
    shown = [comparison(smoke, key, places)["comet"] for key in smoke.config.tables]
    paths = {path for rows in shown for seeds in rows.values() for path in seeds.values()}
    assert {str(segments_of(scores)) for scores in runs} == paths and len(runs) > 20
    commands = commands_of(comet_commands(smoke, runs, places, ["--threads", "3"]), "comet")
    for (scores, run), given in zip(runs.items(), commands, strict=True):
        assert given["--out"] == scores and given["--hypotheses"] == f"{places.test(run)}/hyp"
        assert given["--threads"] == "3"


def test_as_many_sentences_are_scored_as_were_decoded() -> None:
    smoke = study("smoke")
    few = {task: decoding.model_copy(update={"max_sentences": 4}) for task, decoding in smoke.decoding.items()}
    places = ResultPaths(smoke, Path("results"))
    runs = comet_runs(smoke, places)
    for limited, expected in ((smoke, 0), (replace(smoke, decoding=few), len(runs))):
        assert " ".join(comet_commands(limited, runs, places, []).splitlines()).count(" --limit 4") == expected


def commands_of(verbs: str, verb: str) -> list[dict[str, str]]:
    """Return the options of each command of a chain of one verb."""
    chained, commands = verbs.splitlines(), list[dict[str, str]]()
    while chained:
        end = chained.index("then") if "then" in chained else len(chained)
        assert chained[0] == verb
        commands.append(dict(zip(chained[1:end:2], chained[2:end:2], strict=True)))
        chained = chained[end + 1 :]
    return commands


@pytest.mark.slow
def test_all_figures_and_tables_are_made_of_what_each_is_made_of_alone() -> None:
    smoke = study("smoke")
    places = ResultPaths(smoke, Path("results"))
    for key in smoke.config.figures:
        assert set(rule_inputs(figure_spec(smoke, key, places).inputs())) <= set(figure_parts(smoke, places))
    for key in smoke.config.tables:
        assert set(table_spec(smoke, key, places).inputs()) <= set(table_parts(smoke, places))
    for parts in (figure_parts(smoke, places), table_parts(smoke, places)):
        assert len(parts) == len(set(parts)) > 20


def test_none_where_no_table_shows_comet() -> None:
    demo = study("demo")
    assert comet_runs(demo, ResultPaths(demo, Path("results"))) == {}
