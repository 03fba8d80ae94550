"""The figure of learning rates: every system of the sweep with its losses, the chosen rate marked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from figures_fit import offences

from mdnmt.exhibits import figure_style, save_figure
from mdnmt.exhibits.figure_request import figure_spec
from mdnmt.exhibits.figures.learning_rates import LearningRatesSpec
from mdnmt.exhibits.registry import parse_figure
from mdnmt.studies.resolve import resolve
from mdnmt.studies.result_paths import ResultPaths

ROOT = Path(__file__).resolve().parents[3]


def spec(*systems: dict[str, Any]) -> LearningRatesSpec:
    found = parse_figure(json.dumps({"kind": "learning_rates", "title": "T", "systems": systems}))
    assert isinstance(found, LearningRatesSpec)
    return found


def system(name: str, chosen: float, **losses: float | None) -> dict[str, Any]:
    return {"label": f"The {name}", "method": name, "chosen": chosen, "losses": losses}


def test_numbers_are_the_losses_and_the_choice() -> None:
    figure = spec(system("mixed", 0.002, **{"0.001": 5.5, "0.002": 5.0, "0.004": None}))
    found = {(one.name, one.at["learning_rate"]): one.value for one in figure.measures()}
    assert found == {
        ("validation_loss", 0.001): 5.5,
        ("validation_loss", 0.002): 5.0,
        ("chosen", 0.001): 0,
        ("chosen", 0.002): 1,
    }


def test_the_figure_marks_the_chosen_rate_and_nothing_leaves_it(tmp_path: Path) -> None:
    systems = [
        system("mixed", 0.002, **{"0.001": 5.5, "0.002": 5.0, "0.004": None}),
        system("longest-of-all-names", 0.004, **{"0.001": 5.6, "0.002": 5.1, "0.004": 4.9}),
    ]
    with figure_style.style():
        figure, described = spec(*systems).draw()
        (axes,) = figure.axes
        ring = axes.lines[-1]
        assert list(zip(ring.get_xdata(), ring.get_ydata(), strict=True)) == [(5.0, 0), (4.9, -1)]
        assert list(offences(figure)) == []
    assert "0.004: failed (chosen: 0.002)" in described


def test_a_study_without_a_sweep_says_so() -> None:
    with figure_style.style():
        assert spec().draw()[1].startswith("Not drawn")


def test_the_replication_shows_its_sweep(tmp_path: Path) -> None:
    study = resolve(ROOT / "config", "replication", tmp_path)
    found = figure_spec(study, "mdnmt-learning-rates", ResultPaths(study, Path("results")))
    assert isinstance(found, LearningRatesSpec)
    assert study.learning_rates is not None and len(found.systems) == len(study.learning_rates.methods)
    save_figure.save(found, tmp_path / "figure.png", None, tmp_path / "figure.json")
    assert (tmp_path / "figure.png").stat().st_size > 10_000
