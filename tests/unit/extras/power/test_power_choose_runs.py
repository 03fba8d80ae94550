"""Choosing rows and seeds: what fits, what comes first, what is not worth an hour."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from mdnmt.extras.power.choose_runs import Chooser, Row
from mdnmt.extras.power.claim_contrasts import Design
from mdnmt.extras.power.claim_power import CellOfRow, Contrast, Group

BENCHMARKS = Path(__file__).parents[4] / "benchmarks"


def design(name: str, left: str, right: str, printed: float) -> Design:
    cells = (CellOfRow(left, left, 0.3), CellOfRow(right, right, 0.3))
    return Design(name, "p", "", (Group("all", (Contrast(*cells, printed=printed),)),), (left, right), True)


def rows(**hours: float) -> dict[str, Row]:
    return {name: Row(name, 0, cost) for name, cost in hours.items()}


CLEAR, DEAR, SMALL = (
    design("clear", "a", "base", 4.0),
    design("dear", "b", "base", 4.0),
    design("small", "c", "d", 0.01),
)


def test_the_cheapest_decision_comes_first_and_nothing_is_spent_on_what_cannot_be_decided() -> None:
    chooser = Chooser([DEAR, SMALL, CLEAR], rows(base=1.0, a=1.0, b=9.0, c=0.1, d=0.1))
    seeds, steps = chooser.choose()
    assert steps[0].claim == "clear" and set(steps[0].rows) == {"a", "base"}
    assert seeds["b"] >= 3 and seeds["c"] == seeds["d"] == 0


def test_a_budget_is_never_exceeded_and_more_of_it_decides_no_less() -> None:
    chooser = Chooser([CLEAR, DEAR], rows(base=1.0, a=1.0, b=9.0))
    found = []
    for budget in (5.0, 6.0, 33.0, 60.0):
        seeds, steps = chooser.choose(budget)
        assert sum(step.hours for step in steps) <= budget
        assert sum(count * chooser.rows[name].hours for name, count in seeds.items()) <= budget
        found.append(chooser.expected(seeds))
    assert found == sorted(found) and found[0] == 0.0 < found[1] < found[2]


def test_seeds_that_are_there_cost_nothing_and_change_what_is_next() -> None:
    there = {**rows(base=1.0, a=1.0, b=1.0), "base": Row("base", 3, 1.0), "b": Row("b", 2, 1.0)}
    chooser = Chooser([CLEAR, DEAR], there)
    step = chooser.next_steps(1)[0]
    assert (step.claim, step.rows, step.hours) == ("dear", ("b",), 1.0)
    assert chooser.next_row(step) == "b"


def test_a_row_with_fewer_seeds_is_trained_before_one_with_more() -> None:
    chooser = Chooser([CLEAR], {"a": Row("a", 2, 0.1), "base": Row("base", 1, 5.0)})
    assert chooser.next_row(chooser.next_steps(1)[0]) == "base"


def test_claims_of_rows_that_the_study_lacks_are_left_out() -> None:
    chooser = Chooser([CLEAR, DEAR], rows(base=1.0, a=1.0))
    assert [one.name for one in chooser.designs] == ["clear"]


def test_the_choice_decides_more_of_simulated_archives_than_rows_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """benchmarks/power.py in small: clear and unclear claims, cheap and dear rows."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    archive = importlib.import_module("power")
    effects = (0.1, 3.0, 0.2, 4.0, 0.1, 2.5, 3.5, 0.2)
    claims = [design(f"claim{k}", f"row{k}", "base", printed) for k, printed in enumerate(effects)]
    there = rows(base=1.0, **{f"row{k}": 1.0 + k % 3 for k in range(len(effects))})
    found = archive.compare_orders(claims, there, 12)
    shares = {way: sum(values) / len(values) for way, values in found.items()}
    assert shares["whole archive"] > 2
    assert shares["chosen"] >= 0.8
    assert shares["chosen"] > shares["row by row, ten seeds each"] + 0.1
    assert shares["chosen"] > shares["seed by seed, all rows"] + 0.02
