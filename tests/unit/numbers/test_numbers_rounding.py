"""Rounding, spreads and escaping."""

import math
import statistics
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdnmt import escape
from mdnmt.numbers import rounding

HOSTILE = "<script>alert(1)</script> a|b & 5% _x_ #1 $2 {y} ~ ^ \\ \"q\" 'r'\nline"


@pytest.mark.parametrize(
    ("value", "places", "shown"),
    [(2.675, 2, "2.68"), (0.125, 2, "0.13"), (-0.125, 2, "-0.13"), (1.005, 2, "1.01"), (-0.001, 2, "0.00"),
     (12.0, 2, "12.00"), (0.5, 0, "1"), (1e-9, 3, "0.000"), (123456.7, 0, "123457"),
     ((10.004 + 10.006) / 2, 2, "10.01")],
)  # fmt: skip
def test_half_up_rounds_a_five_away_from_zero(value, places, shown):
    assert rounding.half_up(value, places) == shown


@given(st.integers(-(10**7), 10**7), st.integers(0, 3))
def test_half_up_agrees_with_exact_fractions(thousandths, places):
    value = thousandths / 1000
    exact = Fraction(thousandths, 1000) * 10**places
    whole = math.floor(abs(exact) + Fraction(1, 2)) * (1 if exact >= 0 else -1)
    assert Fraction(rounding.half_up(value, places)) == Fraction(whole, 10**places)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_half_up_refuses_what_is_no_number(value):
    with pytest.raises(ValueError, match="cannot be shown"):
        rounding.half_up(value, 2)


@given(st.lists(st.floats(0, 100), min_size=1, max_size=6))
def test_mean_and_spread_are_those_of_the_standard_library(values):
    assert rounding.mean(values) == pytest.approx(statistics.fmean(values))
    spread = rounding.standard_deviation(values)
    if len(values) == 1:
        assert spread is None
    else:
        assert spread == pytest.approx(statistics.stdev(values), abs=1e-9)


def test_times_and_p_values_as_people_write_them():
    assert [rounding.duration(s) for s in (0, 59.6, 3600, 725, 12000)] == [
        "0 s",
        "1 min",
        "1 h",
        "12 min 5 s",
        "3 h 20 min",
    ]
    assert rounding.p_value(0.0004) == "p\u00a0<\u00a00.001"
    assert rounding.p_value(0.0345) == "p\u00a0=\u00a00.035"


def test_latex_leaves_no_command_of_the_text_standing():
    shown = escape.latex(HOSTILE)
    for plain in (r"\&", r"5\%", r"\_x\_", r"\#1", r"\$2", r"\{y\}", r"\textbackslash{}", r"\textless{}script"):
        assert plain in shown
    stripped = shown
    for command in (r"\&", r"\%", r"\_", r"\#", r"\$", r"\{", r"\}"):
        stripped = stripped.replace(command, "")
    assert not set("&%_#$<>|\n") & set(stripped)


def test_markdown_cell_cannot_be_ended_or_turned_into_html():
    shown = escape.markdown(HOSTILE)
    assert "\n" not in shown
    for mark in "|<>*_`":
        assert all(shown[i - 1] == "\\" for i, c in enumerate(shown) if c == mark)
    assert "&amp;" in shown


@given(st.text())
def test_escaped_text_is_one_line(text):
    for escaped in (escape.latex(text), escape.markdown(text)):
        assert not any(ord(c) < 32 for c in escaped)
