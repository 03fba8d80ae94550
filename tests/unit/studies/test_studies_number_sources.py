"""Which files the table of numbers is made of: those that tables and figures read anyway, each with its run."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from mdnmt.config.method import MethodIndex
from mdnmt.exhibits.number_sources import number_sources
from mdnmt.exhibits.request import paper_table
from mdnmt.exhibits.shown_files import shown_files
from mdnmt.numbers.sources import NumberSource
from mdnmt.studies.resolve import resolve
from mdnmt.studies.result_paths import ResultPaths
from mdnmt.studies.study import Study

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def smoke() -> Study:
    return resolve(ROOT / "config", "smoke", ROOT / "resources" / "corpora")


@pytest.fixture(scope="module")
def sources(smoke: Study) -> tuple[NumberSource, ...]:
    return number_sources(smoke, ResultPaths(smoke, Path("results"))).sources


def test_every_score_and_curve_of_a_table_or_figure_is_there_once(
    smoke: Study, sources: tuple[NumberSource, ...]
) -> None:
    places = ResultPaths(smoke, Path("results"))
    read = set(shown_files(smoke, places))
    wanted = {path for path in read if path.name in ("scores.json", "ter.json", "curves.tsv")}
    wanted |= {path for path in read if path.name.startswith("comet-")}
    of_runs = [source for source in sources if source.exhibit is None]
    of_files = Counter(source.path for source in of_runs if source.kind != "resources")
    assert set(of_files) == wanted and set(of_files.values()) == {1}
    assert {source.path for source in of_runs} <= read
    assert {source.kind for source in of_runs} == {"scores", "curves", "resources"}


def test_the_tests_of_each_table_and_the_measures_of_each_figure_are_there(
    smoke: Study, sources: tuple[NumberSource, ...]
) -> None:
    measured = {source.path.stem: source for source in sources if source.kind == "measures"}
    assert set(measured) == set(smoke.config.figures)
    tested = {source.path.stem for source in sources if source.kind == "significance"}
    assert tested and all(paper_table(smoke, key)[0].kind == "scores" for key in tested)
    systems = measured["jiang2020-figure6"].systems
    for run in smoke.makeable(measured["jiang2020-figure6"].task):
        one = systems[run.directory]
        assert run.directory in (one.method, one.variant) and one.runs[run.seed].parent.name == run.directory


def test_all_label_conditions_and_splits_of_the_study_are_told_apart(sources: tuple[NumberSource, ...]) -> None:
    scored = [source for source in sources if source.kind == "scores"]
    conditions = {source.label_condition for source in scored if source.method != "copy-source"}
    assert conditions == {"gold", "wrong", "missing", "predicted"}
    assert {source.split for source in scored} == {"test", "valid"}
    keys = Counter(
        (one.task, one.method, one.variant, one.label_condition, one.seed, one.split, one.path.name.partition("-")[0])
        for one in scored
    )
    assert set(keys.values()) == {1}


def test_variants_and_runs_on_one_domain_carry_their_method_and_their_own_name(
    smoke: Study, sources: tuple[NumberSource, ...]
) -> None:
    methods = MethodIndex(ROOT / "config").names
    by_name = {(one.task, one.variant or one.method): one for one in sources if one.run}
    assert any(one.variant for one in by_name.values())
    for run in smoke.makeable():
        if (run.task, run.directory) in by_name:
            one = by_name[run.task, run.directory]
            assert one.method in methods
            assert one.run is not None and one.run.parent.name == run.directory
