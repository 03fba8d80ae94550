"""What wrong, missing and predicted domain labels cost: against an independent computation, in every direction."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats
from claim_data import cell, compared, grid, spec_of

from mdnmt.statements.claims.outcome import Comparison
from mdnmt.statements.claims.rules.labels import LabelsRule

COLUMNS = [("bleu", "law"), ("bleu", "avg")]
GOLD = [20.0, 20.4, 19.9]


def rows(**values: list[float]) -> dict[str, list[dict[str, Any]]]:
    """Return rows of a table: `a__wrong` is a@wrong; all columns have the same values."""
    return {name.replace("__", "@"): [cell(of_row)] * len(COLUMNS) for name, of_row in values.items()}


def found(folder: Path, cells: dict[str, list[dict[str, Any]]], **keys: Any) -> list[Comparison]:
    given = {"kind": "labels", "table": "t", "labels": ("wrong",), "rows": ("a",), "below": 0.0, "than": ("b",), **keys}
    table = grid(COLUMNS, cells)
    for row in table["rows"]:
        row["label"] += "" if "@" in row["method"] else ", label given"
    return list(compared(LabelsRule.model_validate(given), spec_of(folder, "tables", t=table)))


def test_costs_are_taken_seed_by_seed_and_compared_by_welchs_interval(tmp_path: Path) -> None:
    # The seeds differ by more than the labels do, so that means without pairs would decide nothing.
    a, a_wrong, b, b_wrong = [10.0, 20.0, 30.0], [9.0, 18.9, 29.1], [11.0, 21.0, 31.0], [8.0, 17.9, 28.1]
    (one,) = found(tmp_path, rows(a=a, a__wrong=a_wrong, b=b, b__wrong=b_wrong))
    costs = np.subtract(a, a_wrong), np.subtract(b, b_wrong)
    low, high = scipy.stats.ttest_ind(*costs, equal_var=False).confidence_interval(0.95)
    assert (one.left, one.right) == (pytest.approx(costs[0].mean()), pytest.approx(costs[1].mean()))
    assert one.difference == pytest.approx((low + high) / 2) and one.half_width == pytest.approx((high - low) / 2)
    assert (one.holds, one.toward, one.num_seeds) == (True, True, 3)
    assert one.what == "average BLEU lost under wrong labels: A against B"


@pytest.mark.parametrize(
    ("loses", "holds", "toward"),
    [
        ([1.0, 1.1, 0.9], True, True),  # where the other system loses 3
        ([5.0, 5.1, 4.9], False, False),
        ([2.0, 4.5, 1.5], None, True),
        ([2.0], None, True),
    ],
)
def test_a_cost_may_be_lower_higher_or_not_known(
    tmp_path: Path, loses: list[float], holds: bool | None, toward: bool
) -> None:
    gold = GOLD[: len(loses)]
    wrong = [score - cost for score, cost in zip(gold, loses, strict=True)]
    (one,) = found(tmp_path, rows(a=gold, a__wrong=wrong, b=GOLD, b__wrong=[score - 3 for score in GOLD]))
    assert (one.holds, one.toward, one.num_seeds) == (holds, toward, len(loses))


def test_without_another_system_the_cost_itself_is_compared(tmp_path: Path) -> None:
    cost = [-0.1, 0.0, 0.1]
    wrong, missing = ([score - of_all - one for score, one in zip(GOLD, cost, strict=True)] for of_all in (4, 1))
    cells = rows(a=GOLD, a__wrong=wrong, a__missing=missing)
    both = found(tmp_path, cells, than=(), labels=("wrong", "missing"), below=None, above=2.0, columns="each")
    assert [(one.difference, one.right, one.holds) for one in both] == [
        (pytest.approx(4.0), None, True),
        (pytest.approx(1.0), None, False),
    ]
    assert both[1].what == "BLEU on Law lost under missing labels: A"


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    cells = rows(a=GOLD, a__wrong=GOLD, b=GOLD)
    assert [one.missing for one in found(tmp_path, cells)] == ["b under wrong labels in T (not translated so)"]
    assert [one.missing for one in found(tmp_path, rows(a=GOLD, a__wrong=GOLD))] == ["b in T (not part of this study)"]
    cells = rows(a=GOLD, a__wrong=GOLD[:2], b=GOLD, b__wrong=GOLD)
    assert [one.missing for one in found(tmp_path, cells)] == ["average BLEU of the same seeds of a in T (not there)"]
    cells = rows(a=GOLD, a__wrong=GOLD, b=GOLD, b__wrong=GOLD)
    cells["b@wrong"] = [{}, {}]
    assert [one.missing for one in found(tmp_path, cells)] == ["average BLEU of B@WRONG in T (no number)"]
    assert [one.missing for one in found(tmp_path, cells, metrics=("comet",))] == ["COMET in T (no run has it)"]
    rule = LabelsRule(kind="labels", table="u", labels=("wrong",), rows=("a",))
    (one,) = compared(rule, spec_of(tmp_path, "tables"))
    assert one.missing == "U (not part of this study)"
