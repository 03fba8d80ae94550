"""The table of forgetting: each domain by its own model, and that model on the other domains."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mdnmt.exhibits.grid import Grid, GridRow
from mdnmt.exhibits.rows import Column, ScoreRow, ScoreRun
from mdnmt.exhibits.tables.forgetting import ForgettingTable
from mdnmt.exhibits.tables.scores import ScoreTable

DOMAINS = ("law", "news", "talks")
# seed -> BLEU on each domain
MIXED = {1: (30.0, 20.0, 10.0), 2: (31.0, 21.0, 11.0), 3: (32.0, 19.0, 12.0)}
TUNED = {
    "law": {1: (40.0, 5.0, 4.0), 2: (42.0, 6.0, 3.0), 3: (41.0, 5.5, 5.0)},
    "news": {1: (3.0, 25.0, 7.0), 2: (2.0, 24.0, 8.0), 3: (4.0, 26.0, 9.0)},
    "talks": {1: (1.0, 2.0, 15.0), 2: (1.5, 2.5, 14.0), 3: (2.0, 3.0, 16.0)},
}
# Student's t with 2 degrees of freedom, two-sided, 95 %.
T = 4.302653


def row(folder: Path, name: str, scores: dict[int, tuple[float, ...]], label: str) -> ScoreRow:
    runs = []
    for seed, values in scores.items():
        path = folder / name / f"seed{seed}" / "test" / "scores.json"
        path.parent.mkdir(parents=True)
        entries = {
            domain: {"num_sentences": 5, "bleu": {"score": value, "signature": "one"}}
            for domain, value in zip(DOMAINS, values, strict=True)
        }
        path.write_text(json.dumps({"domains": entries}))
        runs.append(ScoreRun(scores=path, seed=seed))
    return ScoreRow(group="Systems", label=label, method=name, runs=tuple(runs))


def table(*systems: ScoreRow) -> ForgettingTable:
    return ForgettingTable(
        title="Forgetting",
        columns=tuple(Column(name=name, label=name.capitalize()) for name in DOMAINS),
        systems=systems,
        metrics=("bleu",),
        baseline="mixed",
        baseline_label="Mixed",
    )


@pytest.fixture
def mixed(tmp_path: Path) -> ScoreRow:
    return row(tmp_path, "mixed", MIXED, "Mixed")


@pytest.fixture
def tuned(tmp_path: Path) -> ScoreRow:
    models = {name: row(tmp_path, f"tuned-{name}", scores, name) for name, scores in TUNED.items()}
    return ScoreRow(group="Each", label="Tuned", method="tuned", models=models)


def cells(grid: Grid, found: GridRow) -> dict[tuple[str, str], tuple[float, ...]]:
    return {(head.metric, head.key): cell.values for head, cell in zip(grid.headers, found.cells, strict=True)}


def test_own_domains_are_the_diagonal_and_others_the_rest(mixed: ScoreRow, tuned: ScoreRow) -> None:
    grid = table(mixed, tuned).build()
    found = cells(grid, grid.rows[1])
    for place, domain in enumerate(DOMAINS):
        assert found["bleu", domain] == tuple(TUNED[domain][seed][place] for seed in (1, 2, 3))
    for number, seed in enumerate((1, 2, 3)):
        own = sum(TUNED[domain][seed][place] for place, domain in enumerate(DOMAINS)) / 3
        others = [
            TUNED[domain][seed][other] for place, domain in enumerate(DOMAINS) for other in range(3) if other != place
        ]
        base = sum(MIXED[seed]) / 3
        assert found["bleu", "avg"][number] == pytest.approx(own)
        assert found["dbleu", "avg"][number] == pytest.approx(own - base)
        assert found["bleu", "others"][number] == pytest.approx(sum(others) / 6)
        assert found["dbleu", "others"][number] == pytest.approx(sum(others) / 6 - base)


def test_the_interval_is_paired_by_seed(mixed: ScoreRow, tuned: ScoreRow) -> None:
    grid = table(mixed, tuned).build()
    values = cells(grid, grid.rows[1])["dbleu", "avg"]
    middle = sum(values) / 3
    deviation = (sum((value - middle) ** 2 for value in values) / 2) ** 0.5
    low, high = middle - T * deviation / 3**0.5, middle + T * deviation / 3**0.5
    [note] = [text for text in grid.notes if "intervals" in text]
    assert f"Tuned, BLEU, own domain: +{middle:.2f} [+{low:.2f}, +{high:.2f}]" in note


def test_a_model_of_all_domains_forgets_none(mixed: ScoreRow) -> None:
    grid = table(mixed).build()
    found = cells(grid, grid.rows[0])
    assert found["bleu", "avg"] == tuple(sum(MIXED[seed]) / 3 for seed in (1, 2, 3))
    assert found["bleu", "others"] == found["dbleu", "avg"] == ()
    assert grid.rows[0].marks and "one model of all domains" in grid.reasons[grid.rows[0].marks[0]]


def test_without_one_of_its_models_a_system_has_no_average(mixed: ScoreRow, tuned: ScoreRow) -> None:
    lost = ScoreRow(group="Each", label="law", method="tuned-law", missing="not made yet")
    part = tuned.model_copy(update={"models": {**tuned.models, "law": lost}})
    grid = table(mixed, part).build()
    found = cells(grid, grid.rows[1])
    assert found["bleu", "news"] and not found["bleu", "law"]
    assert not any(found[key] for key in found if key[1] in ("avg", "others"))
    assert "not made yet" in [grid.reasons[mark] for mark in grid.rows[1].marks]


def test_models_with_other_seeds_have_no_average(mixed: ScoreRow, tuned: ScoreRow) -> None:
    fewer = tuned.models["law"].model_copy(update={"runs": tuned.models["law"].runs[:2]})
    grid = table(mixed, tuned.model_copy(update={"models": {**tuned.models, "law": fewer}})).build()
    found = cells(grid, grid.rows[1])
    assert len(found["bleu", "law"]) == 2 and not found["bleu", "avg"]


def test_a_table_of_scores_has_them_in_one_row_with_their_price(mixed: ScoreRow, tuned: ScoreRow) -> None:
    expected = cells(table(mixed, tuned).build(), table(mixed, tuned).build().rows[1])
    plain = ScoreTable(
        title="Scores",
        columns=tuple(Column(name=name, label=name.capitalize()) for name in DOMAINS),
        rows=(mixed, tuned),
        metrics=("bleu",),
        baseline="mixed",
        baseline_label="Mixed",
    )
    grid = plain.build()
    found = cells(grid, grid.rows[1])
    assert found == {("bleu", key): expected["bleu", key] for key in (*DOMAINS, "avg")}
    [reason] = [grid.reasons[place] for place in grid.rows[1].marks]
    for key, where in (("avg", "own domains"), ("others", "other domains")):
        values, gains = expected["bleu", key], expected["dbleu", key]
        middle = sum(gains) / 3
        reach = T * (sum((gain - middle) ** 2 for gain in gains) / 2) ** 0.5 / 3**0.5
        text = f"{sum(values) / 3:.2f} BLEU, {middle:+.2f} [{middle - reach:+.2f}, {middle + reach:+.2f}] to Mixed"
        assert f"on {where} {text}".replace("-", "\N{MINUS SIGN}") in reason
    assert {run.scores for part in tuned.models.values() for run in part.runs} <= set(plain.inputs())
    lost = ScoreRow(group="Each", label="law", method="tuned-law", missing="not made yet")
    part = tuned.model_copy(update={"models": {**tuned.models, "law": lost}})
    grid = plain.model_copy(update={"rows": (mixed, part)}).build()
    found = cells(grid, grid.rows[1])
    assert found["bleu", "news"] and not found["bleu", "law"] and not found["bleu", "avg"]
    assert any("not made yet" in grid.reasons[place] for place in grid.rows[1].marks)
