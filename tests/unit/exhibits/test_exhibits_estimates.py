"""The table of estimates: differences from the baseline, one family of tests for each table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from workflow.snakemake_project import Project

from mdnmt.exhibits.baseline_differences import ComparedSystems, effects, family_of
from mdnmt.exhibits.grid import GridRow
from mdnmt.exhibits.rows import Column, ScoreRow, ScoreRun
from mdnmt.exhibits.table_request import table_spec
from mdnmt.exhibits.tables.estimates import EstimatesTable
from mdnmt.numbers.verdicts import Printed
from mdnmt.studies.resolve import resolve
from mdnmt.studies.result_paths import ResultPaths

BASE = [(10.0, 20.0), (11.0, 20.0), (10.0, 23.0), (12.0, 21.0)]
SYSTEMS = {
    "dsa": [(14.0, 21.0), (12.0, 22.0), (13.0, 20.0)],
    "mtl": [(10.0, 22.0), (11.0, 22.0), (12.0, 23.0)],
    "one": [(12.0, 20.0)],
}


def row(folder: Path, method: str, seeds: list[tuple[float, float]], **more: Any) -> ScoreRow:
    """Return a row; `seeds` are (BLEU on law, BLEU on news) of each seed."""
    runs = []
    for seed, (law, news) in enumerate(seeds, start=1):
        path = folder / method / f"seed{seed}" / "test" / "scores.json"
        path.parent.mkdir(parents=True)
        scores = {
            name: {"num_sentences": 9, "bleu": {"score": value}} for name, value in (("law", law), ("news", news))
        }
        path.write_text(json.dumps({"domains": scores}))
        runs.append(ScoreRun(scores=path, seed=seed))
    return ScoreRow(group="", label=method.upper(), method=method, runs=tuple(runs), **more)


def table(folder: Path, **more: list[tuple[float, float]]) -> ComparedSystems:
    printed = {"bleu/avg": Printed(value=25.0)}
    rows = [row(folder, "mixed", BASE, printed=printed)]
    rows += [row(folder, name, seeds) for name, seeds in {**SYSTEMS, **more}.items()]
    rows[1] = rows[1].model_copy(update={"printed": {"bleu/avg": Printed(value=26.5)}})
    rows.append(ScoreRow(group="", label="Later", method="later", missing="not trained yet"))
    columns = tuple(Column(name=name, label=name) for name in ("law", "news"))
    return ComparedSystems(
        label="A et al., Table 1",
        columns=columns,
        rows=tuple(rows),
        metric="bleu",
        baseline="mixed",
        baseline_label="Mixed",
    )


def texts(found: GridRow) -> list[str]:
    return [cell.text for cell in found.cells]


def test_each_system_has_its_difference_interval_and_seeds(tmp_path: Path) -> None:
    scores = table(tmp_path)
    grid = EstimatesTable(title="Estimates", tables=(scores,)).build()
    of = {one.method: one for one in grid.rows}
    assert list(of) == ["dsa", "mtl", "one", "later"], "the baseline is no row of its own"
    dsa, family = effects(scores, "dunnett")[0], family_of(effects(scores, "dunnett"))
    assert family is not None and dsa.ours is not None and dsa.reach is not None
    numbers = dict(zip((header.key for header in grid.headers), of["dsa"].cells, strict=True))
    assert numbers["difference"].mean == pytest.approx(17.0 - 15.875)
    assert (numbers["low"].mean, numbers["high"].mean) == (dsa.ours - dsa.reach, dsa.ours + dsa.reach)
    assert numbers["printed"].text == "+1.50" and numbers["p"].mean == dsa.p
    assert (numbers["seeds"].text, numbers["baseline_seeds"].text) == ("3", "4")
    assert numbers["seeds_needed"].mean == family.seeds_for(0.5)


def test_a_single_seed_describes_itself_and_is_in_no_test(tmp_path: Path) -> None:
    with_one = table(tmp_path / "a")
    without = table(tmp_path / "b").model_copy(update={"rows": tuple(r for r in with_one.rows if r.method != "one")})
    first, second = (EstimatesTable(title="E", tables=(one,)).build() for one in (with_one, without))
    of = {one.method: one for one in first.rows}
    assert texts(of["one"])[1] != "\N{EN DASH}" and texts(of["one"])[2:5] == ["\N{EN DASH}"] * 3
    assert first.reasons[of["one"].marks[0]].startswith("fewer than 3 seeds")
    assert first.reasons[of["later"].marks[0]] == "not trained yet"
    assert [texts(row) for row in second.rows[:2]] == [texts(row) for row in first.rows[:2]]


def test_each_table_is_a_family_of_its_own(tmp_path: Path) -> None:
    scores = table(tmp_path)
    alone = scores.model_copy(update={"rows": tuple(row for row in scores.rows if row.method in ("mixed", "dsa"))})
    grid = EstimatesTable(
        title="E", tables=(scores.model_copy(update={"label": "All"}), alone.model_copy(update={"label": "Alone"}))
    ).build()
    wide, narrow = (next(r for r in grid.rows if r.group == group and r.method == "dsa") for group in ("All", "Alone"))
    assert wide.cells[4].mean is not None and narrow.cells[4].mean is not None
    assert wide.cells[4].mean > narrow.cells[4].mean, "more comparisons, a larger p"
    assert sum("comparisons" in note for note in grid.notes) == 2


def test_a_row_with_one_model_per_domain_names_all_its_runs_or_what_is_missing(tmp_path: Path) -> None:
    scores = table(tmp_path)
    law, news = row(tmp_path, "tuned-law", SYSTEMS["dsa"]), row(tmp_path, "tuned-news", SYSTEMS["mtl"])
    tuned = ScoreRow(group="", label="Tuned", method="tuned", models={"law": law, "news": news})
    untrained = news.model_copy(update={"runs": (), "missing": "later"})
    half = tuned.model_copy(update={"method": "half", "models": {"law": law, "news": untrained}})
    spec = EstimatesTable(title="E", tables=(scores.model_copy(update={"rows": (*scores.rows, tuned, half)}),))
    grid, runs = spec.build(), (*law.runs, *news.runs)
    of = {one.method: one for one in grid.rows}
    # Law by the model of law (14, 12, 13), news by that of news (22, 22, 23).
    assert of["tuned"].cells[1].mean == pytest.approx((36 + 34 + 36) / 6 - 15.875)
    assert [run.folder for run in of["tuned"].runs] == [run.scores.parent.parent.as_posix() for run in runs]
    assert [grid.reasons[mark] for mark in of["half"].marks] == ["later"]
    assert {run.scores for run in runs} <= set(spec.inputs())


def test_a_study_shows_its_own_tables_without_the_copied_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = Project.create(tmp_path / "project")
    monkeypatch.chdir(project.folder)
    rows = [{"group": "Ours", "method": "waldm-edc"}]
    tables = {"mdnmt-systems": {"task": "tiny", "rows": rows}, "mdnmt-estimates": {"task": "tiny"}}
    project.update("config/studies/tiny.yaml", tables=tables)
    study = resolve(Path("config"), "tiny", Path("resources/corpora"))
    spec = table_spec(study, "mdnmt-estimates", ResultPaths(study, Path("results")))
    assert isinstance(spec, EstimatesTable)
    assert [row.method for row in spec.needs()] == ["mixed", "waldm-edc"]
    assert {path.name for path in spec.inputs()} == {"scores.json"} and len(spec.inputs()) == 2
