"""Exhibits are asked for by key: the path below the study's results, without its ending."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mdnmt.errors import ConfigError
from mdnmt.report.make_exhibits import Exhibits
from mdnmt.studies.resolve import resolve
from mdnmt.studies.result_paths import result_paths

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Exhibits, list[str]]:
    """Return the exhibits of the demo, and the keys that are made."""
    study = resolve(ROOT / "config", "demo", tmp_path / "corpora", provisional=True)
    exhibits, made = Exhibits(study, result_paths(study, tmp_path), "make demo"), list[str]()
    monkeypatch.setattr(exhibits, "_made", {key: lambda key=key: made.append(key) for key in exhibits._made})
    return exhibits, made


def test_every_key_is_the_path_of_what_it_makes(demo: tuple[Exhibits, list[str]], tmp_path: Path) -> None:
    exhibits, made = demo
    study, places = exhibits._study, exhibits._places
    exhibits.make(exhibits._made)
    paths: list[Any] = [places.significance(key) for key in study.config.tables]
    paths += [places.table(key, "csv") for key in study.config.tables]
    paths += [places.figure(key, "png") for key in study.config.figures]
    paths += [places.claims(paper) or tmp_path / f"demo/claims/{paper}" for paper in study.papers]
    paths += [tmp_path / "demo/numbers.csv", places.runs_table, tmp_path / "demo/report.html"]
    assert made == [str(Path(path).relative_to(tmp_path / "demo").with_suffix("")) for path in paths]


def test_a_kind_stands_for_all_and_a_bare_key_for_its_exhibit(demo: tuple[Exhibits, list[str]]) -> None:
    exhibits, made = demo
    exhibits.make(["tables", "jiang2020-figure6", "jiang2020-table2", "report"])
    assert made == [
        *(f"tables/{key}" for key in exhibits._study.config.tables),
        *("figures/jiang2020-figure6", "tables/jiang2020-table2", "report"),
    ]


def test_an_unknown_key_is_named_before_anything_is_made(demo: tuple[Exhibits, list[str]]) -> None:
    exhibits, made = demo
    with pytest.raises(ConfigError, match=r"study demo has no exhibit 'tables2'.*; expected one of: "):
        exhibits.make(["report", "tables2"])
    assert made == []
