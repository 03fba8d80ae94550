"""Exhibits are asked for by key: the path below the study's results, without its ending."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mdnmt.errors import ConfigError
from mdnmt.exhibits.request import identity
from mdnmt.report.make_exhibits import Exhibits
from mdnmt.studies.resolve import resolve
from mdnmt.studies.result_paths import ResultPaths

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Exhibits, list[str]]:
    """Return the exhibits of the demo, and the keys that are made."""
    study = resolve(ROOT / "config", "demo", tmp_path / "corpora", provisional=True)
    exhibits, made = Exhibits(study, ResultPaths(study, tmp_path), "make demo"), list[str]()
    monkeypatch.setattr(exhibits, "_write", lambda key, spec, places: made.append(key))
    return exhibits, made


def test_every_key_is_the_path_of_what_it_makes(demo: tuple[Exhibits, list[str]], tmp_path: Path) -> None:
    exhibits, made = demo
    study, places = exhibits._study, exhibits._places
    exhibits.make(exhibits.keys)
    paths: list[Any] = [places.significance(key) for key in study.config.tables]
    paths += [places.table(key, "csv") for key in study.config.tables]
    paths += [places.figure(key, "png") for key in study.config.figures]
    paths += [places.claims(paper) for paper in study.papers]
    paths += [tmp_path / "demo/numbers.csv", places.runs_table, tmp_path / "demo/report.html"]
    assert made == [str(Path(path).relative_to(tmp_path / "demo").with_suffix("")) for path in paths]


def test_a_kind_stands_for_all_and_a_bare_key_for_its_exhibit(demo: tuple[Exhibits, list[str]]) -> None:
    exhibits, made = demo
    exhibits.make(["tables", "jiang2020-figure6", "jiang2020-table2", "report"])  # a key twice counts once
    assert made == [
        *(f"tables/{key}" for key in exhibits._study.config.tables),
        *("figures/jiang2020-figure6", "report"),
    ]


def test_an_unknown_key_is_named_before_anything_is_made(demo: tuple[Exhibits, list[str]]) -> None:
    exhibits, made = demo
    for key in ("tables2", ""):
        with pytest.raises(ConfigError, match=rf"study demo has no exhibit '{key}'.*; expected one of: "):
            exhibits.make(["report", key])
    assert made == []


def test_a_study_that_was_edited_since_it_was_planned_is_refused(demo: tuple[Exhibits, list[str]]) -> None:
    exhibits, made = demo
    planned = [identity(exhibits._spec(key, exhibits._places)) for key in exhibits.keys]
    exhibits.make(exhibits.keys, planned)
    assert made == list(exhibits.keys)
    made.clear()
    comparison = exhibits._study.config.comparison.model_copy(update={"num_resamples": 7})
    config = exhibits._study.config.model_copy(update={"comparison": comparison})
    exhibits._study = replace(exhibits._study, config=config)
    key = next(iter(exhibits.keys))
    with pytest.raises(ConfigError, match=rf"study demo is not the one that was planned for {key}: .*; start the same"):
        exhibits.make([key], planned[:1])
    assert made == []


@pytest.mark.slow
def test_by_hand_only_tables_figures_and_their_page_are_made_and_apart(tmp_path: Path) -> None:
    study = resolve(ROOT / "config", "demo", tmp_path / "corpora", provisional=True)
    exhibits = Exhibits(study, ResultPaths(study, tmp_path), "make demo")
    for key in ("numbers", "significance/jiang2020-table2", "claims/jiang2020", "report"):
        with pytest.raises(ConfigError, match=f"{key} is made by Snakemake alone .*by hand, expected tables or"):
            exhibits.make_from_what_exists(["tables", key])
    assert not (tmp_path / "demo").exists()
    table = exhibits.make_from_what_exists(["jiang2020-table2"])
    assert table == tmp_path / "demo/partial/tables/jiang2020-table2.md" and "not made yet" in table.read_text()
    page = exhibits.make_from_what_exists()
    assert page == tmp_path / "demo/partial/report.html" and page.is_file()
    shown = {path.name for path in page.parent.glob("*/*.json")}
    assert shown == {f"{key}.json" for key in (*study.config.tables, *study.config.figures)}
    assert sorted(path.name for path in (tmp_path / "demo").iterdir()) == ["partial"]
