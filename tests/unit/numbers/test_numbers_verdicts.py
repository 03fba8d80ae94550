"""The rule of the verdicts: what is reproduced, what is not, what cannot be said, and why."""

from __future__ import annotations

import pytest
from scipy import stats

from mdnmt.exhibits.grid import Cell, Grid, GridRow, Header, tally
from mdnmt.numbers.rounding import signed
from mdnmt.numbers.verdicts import VERDICTS, Judgement, Printed, judge, judge_count, rounding, scoring_basis


def printed(raw: str, value: float | None = None) -> Printed:
    return Printed(value=float(raw.rstrip("*")) if value is None else value, raw=raw)


def verdict(values: tuple[float, ...], number: Printed, differs: str | None = None) -> str:
    found = judge(values, number, differs)
    assert found is not None and found.reason
    return found.verdict


# The mean of 9.9, 10.0 and 10.1 is 10, their standard deviation 0.1: the interval of the difference is
# 4.303 * 0.1 * sqrt(4/3) = 0.4968 to either side, and what is printed with two decimals adds 0.005. 1.96 * 0.1 is far
# below the margin of 0.5, so that more seeds could put the interval inside it.
NARROW = (9.9, 10.0, 10.1)


@pytest.mark.parametrize(
    ("number", "margin", "expected"),
    [("10.00", 0.5, "inconclusive"), ("10.00", 0.502, "reproduced"), ("10.01", 0.51, "inconclusive"),
     ("10.99", 0.5, "inconclusive"), ("11.01", 0.5, "not reproduced"), ("8.99", 0.5, "not reproduced"),
     ("12.00", 0.5, "not reproduced"), ("12.00*", 3.0, "reproduced"), ("9.7", 0.9, "reproduced")],
)  # fmt: skip
def test_the_interval_of_the_difference_is_held_against_the_margin(number: str, margin: float, expected: str) -> None:
    found = judge(NARROW, printed(number), None, margin=margin)
    assert found is not None and (found.verdict, found.only_inside) == (expected, False)


def test_where_single_runs_vary_as_much_as_the_margin_the_difference_itself_decides() -> None:
    # Standard deviation 0.3: 1.96 * 0.3 = 0.588, wider than the margin with any number of seeds.
    found = [judge((9.7, 10.0, 10.3), printed(number), None) for number in ("10.40", "10.60", "30.00")]
    assert [one and (one.verdict, one.only_inside) for one in found] == [
        ("reproduced", True), ("inconclusive", False), ("not reproduced", False),
    ]  # fmt: skip
    assert found[0] is not None and "is not significant" in found[0].reason


def test_two_points_away_is_no_longer_reproduced() -> None:
    found = judge((9.6, 10.0, 10.4), printed("12.00"), None)
    assert found is not None and found.verdict == "inconclusive"


@pytest.mark.parametrize(("number", "margin"), [("10.05", 0.5), ("10.95", 0.5), ("10.10", 0.6)])
def test_the_number_of_seeds_that_would_decide_is_the_smallest(number: str, margin: float) -> None:
    found = judge(NARROW, printed(number), None, margin=margin)
    assert found is not None and found.verdict == "inconclusive"
    gap = abs(abs(10 - float(number)) - margin)
    decides = [n for n in range(3, 60) if stats.t.ppf(0.975, n - 1) * 0.1 * (1 + 1 / n) ** 0.5 + 0.005 < gap]
    assert f"about {decides[0]} seeds would decide it" in found.reason


def test_no_number_of_seeds_may_decide() -> None:
    found = judge(NARROW, printed("10.45"), None)
    assert found is not None and "no number of seeds would decide it" in found.reason


@pytest.mark.parametrize("number", ["26.09", "26.61", "90.00"])
def test_equal_seeds_do_not_say_how_much_runs_vary(number: str) -> None:
    found = judge((26.094, 26.094, 26.094), printed(number), None)
    assert found is not None and found.verdict == "inconclusive" and "have the same value" in found.reason


@pytest.mark.parametrize("values", [(10.0,), (10.0, 10.0)])
def test_fewer_than_three_seeds_decide_nothing(values: tuple[float, ...]) -> None:
    found = judge(values, printed("10.00"), None)
    assert found is not None and found.verdict == "inconclusive"
    assert found.reason == f"{len(values)} seed{'s' * (len(values) - 1)}; a verdict needs 3"


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


def test_reasons_say_the_numbers_and_what_they_rest_on() -> None:
    found = judge(NARROW, printed("12.34*"), None, basis="test set, tokenised words without smoothing")
    assert found is not None
    assert found.reason == (
        "difference -2.34, 95 % interval -2.84 to -1.84 (3 seeds; test set, tokenised words without smoothing): the "
        "interval lies outside \u00b10.50"
    )


@pytest.mark.parametrize(
    ("signatures", "split", "expected"),
    [({"nrefs:1|case:mixed|tok:none|smooth:none"}, "test", "test set, tokenised words without smoothing"),
     ({"nrefs:1|case:mixed|tok:13a|smooth:exp"}, "valid", "validation set, 13a tokenisation"),
     ({"tok:none|smooth:none|words:jieba-1-zh"}, "test", "test set, tokenised words by jieba-1-zh without smoothing"),
     ({"nrefs:1|nc:6|nw:0"}, "test", "test set, untokenised text"), (set(), "test", "test set"),
     ({"tok:13a", "tok:zh"}, "test", "test set, scored in different ways")],
)  # fmt: skip
def test_the_basis_is_read_from_the_signature(signatures: set[str], split: str, expected: str) -> None:
    assert scoring_basis(signatures, split) == expected


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
        "reproduced": 4, "not reproduced": 2, "inconclusive": 2, "not comparable": 2, "not tested": 2,
        "not made": 2, "not available": 2,
    }  # fmt: skip
    assert set(tally([]).values()) == {0}


@pytest.mark.parametrize(
    ("value", "shown"), [(0.123, "+0.12"), (-0.125, "\N{MINUS SIGN}0.13"), (0.001, "0.00"), (-0.001, "0.00")]
)
def test_differences_have_a_sign(value: float, shown: str) -> None:
    assert signed(value, 2) == shown
