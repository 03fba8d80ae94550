"""The rule of the verdicts: what is reproduced, what is not, what cannot be said, and why."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from mdnmt.paper.grid import Cell, Grid, GridRow, Header
from mdnmt.paper.numbers import signed, t_quantile
from mdnmt.paper.spec_parts import Printed
from mdnmt.paper.verdict import VERDICTS, Judgement, judge, judge_count, rounding, tally


def printed(raw: str, value: float | None = None) -> Printed:
    return Printed(value=float(raw.rstrip("*")) if value is None else value, raw=raw)


def verdict(values: tuple[float, ...], number: Printed, differs: str | None = None) -> str:
    found = judge(values, number, differs)
    assert found is not None and found.reason
    return found.verdict


@given(st.integers(1, 200))
def test_t_quantiles_are_those_of_the_distribution(freedom: int) -> None:
    assert t_quantile(freedom) == pytest.approx(stats.t.ppf(0.975, freedom), rel=1e-9)


def test_t_quantiles_are_those_of_the_textbook() -> None:
    assert [round(t_quantile(n), 3) for n in (1, 2, 3, 4, 9, 30)] == [12.706, 4.303, 3.182, 2.776, 2.262, 2.042]
    with pytest.raises(ValueError, match="0 degrees of freedom"):
        t_quantile(0)


# The mean of 9.9, 10.0 and 10.1 is 10, their standard deviation 0.1: one more run is within 4.303 * 0.1 * sqrt(4/3) =
# 0.4968 of the mean, and what is printed with two decimals is rounded by up to 0.005.
NARROW = (9.9, 10.0, 10.1)


@pytest.mark.parametrize(
    ("number", "expected"),
    [("10.49", "reproduced"), ("10.50", "reproduced"), ("10.51", "not reproduced"), ("9.50", "reproduced"),
     ("9.49", "not reproduced"), ("10.5", "reproduced"), ("10.6", "not reproduced"), ("10.50*", "reproduced")],
)  # fmt: skip
def test_reproduced_is_what_one_more_run_may_give(number: str, expected: str) -> None:
    assert verdict(NARROW, printed(number)) == expected


def test_equal_seeds_leave_the_rounding_alone() -> None:
    assert verdict((26.094, 26.094, 26.094), printed("26.09")) == "reproduced"
    assert verdict((26.096, 26.096, 26.096), printed("26.09")) == "not reproduced"


@pytest.mark.parametrize("values", [(10.0,), (10.0, 10.0)])
def test_fewer_than_three_seeds_decide_nothing(values: tuple[float, ...]) -> None:
    found = judge(values, printed("10.00"), None)
    assert found is not None and found.verdict == "inconclusive"
    assert found.reason == f"{len(values)} seed{'s' * (len(values) - 1)}; a verdict needs 3"


def test_a_mean_that_is_known_too_roughly_decides_nothing() -> None:
    # Standard deviation 0.4: the mean is known to 4.303 * 0.4 / sqrt(3) = 0.994; with 0.41 to 1.019.
    assert verdict((9.6, 10.0, 10.4), printed("30.00")) == "not reproduced"
    found = judge((9.59, 10.0, 10.41), printed("10.00"), None)
    assert found == Judgement(
        verdict="inconclusive", reason="the mean of 3 seeds is known to \u00b11.02 (95 %); a verdict needs 1.00 or less"
    )
    wider = judge((9.59, 10.0, 10.41), printed("10.00"), None, widest=1.1)
    assert wider is not None and wider.verdict == "reproduced"


def test_what_differs_is_not_compared_whatever_the_numbers() -> None:
    assert judge((1.0,), printed("10.00"), "other text") == Judgement(verdict="not comparable", reason="other text")
    assert verdict(NARROW, printed("10.00"), "other text") == "not comparable"
    assert judge_count(5, printed("5"), "other text") == Judgement(verdict="not comparable", reason="other text")


def test_nothing_to_compare_has_no_verdict() -> None:
    for number in (None, Printed(value=None)):
        assert judge(NARROW, number, "other text") is None
        assert judge_count(5, number, "other text") is None
    assert judge((), printed("10.00"), "other text") is None
    assert judge_count(None, printed("10"), None) is None


def test_reasons_say_the_numbers() -> None:
    found = judge(NARROW, printed("12.34*"), None)
    assert found is not None
    assert found.reason == (
        "12.34* does not lie from 9.50 to 10.50, where 95 % of single runs are to be expected (3 seeds)"
    )
    rounded = judge((26.094, 26.094, 26.094), printed("26.09"), None)
    assert rounded is not None and "is rounded and may lie from 26.09 to 26.09" in rounded.reason


@pytest.mark.parametrize(
    ("raw", "value", "half"),
    [("26.09", 26.09, 0.005), ("184K", 184000, 500), ("217 k", 217000, 500), ("14,942", 14942, 0.5), ("1M", 1e6, 5e5),
     ("610.9 M", 6.109e8, 5e4), ("57.56*", 57.56, 0.005), ("+1.4", 1.4, 0.05), ("\N{EN DASH}0.9", -0.9, 0.05),
     ("", 26.1, 0.05), ("", 184000.0, 0.5), ("about thirty", 30.0, 0.5)],
)  # fmt: skip
def test_half_a_unit_of_the_last_printed_digit(raw: str, value: float, half: float) -> None:
    assert rounding(Printed(value=value, raw=raw)) == pytest.approx(half)


@pytest.mark.parametrize(
    ("count", "raw", "value", "expected"),
    [(183_500, "184K", 184000, "reproduced"), (184_499, "184K", 184000, "reproduced"),
     (183_499, "184K", 184000, "not reproduced"), (184_500, "184K", 184000, "not reproduced"),
     (457, "457", 457, "reproduced"), (456, "457", 457, "not reproduced"),
     (89_400_000, "89 M", 89e6, "reproduced"), (89_500_000, "89 M", 89e6, "not reproduced")],
)  # fmt: skip
def test_counts_are_equal_after_the_printed_rounding(count: int, raw: str, value: float, expected: str) -> None:
    found = judge_count(count, Printed(value=value, raw=raw), None)
    assert found is not None and found.verdict == expected
    assert f"{count:,}" in found.reason and raw in found.reason


def test_the_tally_has_every_published_cell() -> None:
    judged = [Cell(mean=1.0, published=1.0, judgement=Judgement(verdict=each, reason="r")) for each in VERDICTS]
    others = [
        Cell(published=2.0, published_text="2"),  # not made
        Cell(mean=1.0, published_text="not available"),
        Cell(mean=1.0),  # the paper has no such cell
        Cell(published_text="not available"),
    ]
    cells = (*judged, judged[0], *others)
    headers = tuple(Header(key=str(n), label="", metric="bleu") for n in range(len(cells)))
    grid = Grid(kind="scores", title="T", headers=headers, rows=(GridRow(group="", label="", method="", cells=cells),))
    assert tally([grid, grid]) == {
        "reproduced": 4, "not reproduced": 2, "inconclusive": 2, "not comparable": 2, "not made": 2, "not available": 2,
    }  # fmt: skip
    assert set(tally([]).values()) == {0}


@pytest.mark.parametrize(
    ("value", "shown"), [(0.123, "+0.12"), (-0.125, "\N{MINUS SIGN}0.13"), (0.001, "0.00"), (-0.001, "0.00")]
)
def test_differences_have_a_sign(value: float, shown: str) -> None:
    assert signed(value, 2) == shown
