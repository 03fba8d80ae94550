"""COMET of all runs of a study in one process: those that its tables show, and no other."""

from __future__ import annotations

from pathlib import Path

from mdnmt.planning.layout import places_of
from mdnmt.studies.comets import comet_files, comet_runs, comet_verbs
from mdnmt.studies.resolve import resolve
from mdnmt.studies.study import Study
from mdnmt.studies.table_specs import comparison

ROOT = Path(__file__).resolve().parents[3]


def study(name: str) -> Study:
    return resolve(ROOT / "config", name, ROOT / "resources" / "corpora")


def test_the_files_are_those_that_tables_are_made_of() -> None:
    smoke = study("smoke")
    places = places_of(smoke, Path("results"))
    runs = comet_runs(smoke)
    files = comet_files(runs, places)
    shown = [comparison(smoke, key, places)["comet"] for key in smoke.config.tables]
    assert set(files["segments"]) == {path for rows in shown for seeds in rows.values() for path in seeds.values()}
    assert len(set(files["scores"])) == len(runs) > 20
    words = comet_verbs(smoke, runs, places, ["--threads", "3"]).splitlines()
    assert words.count("comet") == words.count("--threads") == len(runs) == words.count("then") + 1
    first = words[1 : words.index("then")]
    given = dict(zip(first[::2], first[1::2], strict=True))
    assert given["--out"] == files["scores"][0] and given["--hypotheses"] == f"{places.test(runs[0])}/hyp"


def test_none_where_no_table_shows_comet() -> None:
    assert comet_runs(study("demo")) == []
