"""What a study shows is made from the files of all its tables and figures, each listed once."""

from __future__ import annotations

from pathlib import Path

import pytest

from mdnmt.exhibits.figure_request import figure_spec
from mdnmt.exhibits.shown_files import rule_inputs, shown_files
from mdnmt.exhibits.table_request import table_spec
from mdnmt.studies.resolve import resolve
from mdnmt.studies.result_paths import ResultPaths

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.slow
def test_the_files_of_each_exhibit_are_among_them_once() -> None:
    smoke = resolve(ROOT / "config", "smoke", ROOT / "resources" / "corpora")
    places = ResultPaths(smoke, Path("results"))
    shown = shown_files(smoke, places)
    figures = [rule_inputs(figure_spec(smoke, key, places).inputs()) for key in smoke.config.figures]
    tables = [table_spec(smoke, key, places).inputs() for key in smoke.config.tables]
    assert set(shown) == {path for files in (*figures, *tables) for path in files}
    assert len(shown) == len(set(shown)) > 40


def test_an_analysis_is_one_input_its_folder() -> None:
    files = [Path(f"run/analysis-00000000/{name}") for name in ("gates.npz", "vectors.npz")]
    assert rule_inputs([*files, Path("run/curves.tsv")]) == [Path("run/analysis-00000000"), Path("run/curves.tsv")]
