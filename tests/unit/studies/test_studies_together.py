"""COMET and analyses of all runs of a study in one process: of those that are shown, and no other."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from mdnmt.planning.layout import places_of
from mdnmt.score.comet_files import segments_of
from mdnmt.studies.figure_specs import figure_spec
from mdnmt.studies.resolve import resolve
from mdnmt.studies.study import Study
from mdnmt.studies.table_specs import comparison
from mdnmt.studies.together import analysed_runs, analysis_verbs, comet_runs, comet_verbs

ROOT = Path(__file__).resolve().parents[3]


def study(name: str) -> Study:
    return resolve(ROOT / "config", name, ROOT / "resources" / "corpora")


def test_scores_are_those_that_tables_are_made_of() -> None:
    smoke = study("smoke")
    places = places_of(smoke, Path("results"))
    runs = comet_runs(smoke, places)
    shown = [comparison(smoke, key, places)["comet"] for key in smoke.config.tables]
    paths = {path for rows in shown for seeds in rows.values() for path in seeds.values()}
    assert {str(segments_of(scores)) for scores in runs} == paths and len(runs) > 20
    words = comet_verbs(smoke, runs, places, ["--threads", "3"]).splitlines()
    assert words.count("comet") == words.count("--threads") == len(runs) == words.count("then") + 1
    first = words[1 : words.index("then")]
    given = dict(zip(first[::2], first[1::2], strict=True))
    scores, run = next(iter(runs.items()))
    assert given["--out"] == scores and given["--hypotheses"] == f"{places.test(run)}/hyp"


def test_as_many_sentences_are_scored_as_were_decoded() -> None:
    smoke = study("smoke")
    few = {task: decoding.model_copy(update={"max_sentences": 4}) for task, decoding in smoke.decoding.items()}
    places = places_of(smoke, Path("results"))
    runs = comet_runs(smoke, places)
    for limited, expected in ((smoke, 0), (replace(smoke, decoding=few), len(runs))):
        assert " ".join(comet_verbs(limited, runs, places, []).splitlines()).count(" --limit 4") == expected


def test_analyses_are_those_that_figures_are_made_of() -> None:
    smoke = study("smoke")
    places = places_of(smoke, Path("results"))
    runs = analysed_runs(smoke, places)
    specs = "".join(figure_spec(smoke, key, places).model_dump_json() for key in smoke.config.figures)
    assert {folder for run in smoke.makeable() if (folder := places.analysis(run)) in specs} == runs.keys()
    assert len(runs) > 10
    commands = " ".join(analysis_verbs(smoke, runs, places, ["--threads", "3"]).splitlines()).split(" then ")
    for (folder, run), command in zip(runs.items(), commands, strict=True):
        assert command.startswith(f"analyse --run {places.run(run)} ") and f" --out {folder} " in command


def test_none_where_no_table_shows_comet() -> None:
    demo = study("demo")
    assert comet_runs(demo, places_of(demo, Path("results"))) == {}
