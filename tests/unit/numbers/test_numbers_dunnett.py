"""Dunnett's test: the quantiles that he printed, and what the test becomes with one system."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import ttest_ind

from mdnmt.numbers.dunnett import compare_with_baseline


def groups(systems: int, each: int, seed: int = 3) -> list[list[float]]:
    draw = np.random.default_rng(seed)
    return [list(25 + draw.standard_normal(each)) for _ in range(systems + 1)]


@pytest.mark.parametrize(
    ("systems", "each", "quantile"),
    [(2, 3, 2.86), (3, 3, 2.88), (5, 4, 2.76), (4, 6, 2.61)],  # Dunnett 1964, Table II, two-sided 5 %: 6, 8, 18, 25 df
)
def test_quantiles_are_those_of_dunnetts_table(systems: int, each: int, quantile: float) -> None:
    base, *others = groups(systems, each)
    family = compare_with_baseline(others, base)
    assert family is not None and family.quantile == pytest.approx(quantile, abs=0.01)


def test_one_system_is_students_t_test_with_equal_variances() -> None:
    base, other = groups(1, 4)
    family = compare_with_baseline([other], base[:3])
    tested = ttest_ind(other, base[:3], equal_var=True)
    interval = tested.confidence_interval(0.95)
    assert family is not None
    assert family.p_values[0] == pytest.approx(tested.pvalue, abs=1e-3)
    assert family.reaches[0] == pytest.approx(
        (interval.high - interval.low) / 2, rel=5e-3
    )  # scipy integrates by simulation


def test_numbers_are_the_same_each_time_and_do_not_change_numpys_generator() -> None:
    base, *others = groups(6, 3)
    np.random.seed(1)
    first = np.random.random()
    np.random.seed(1)
    one, two = compare_with_baseline(others, base), compare_with_baseline(others, base)
    assert one == two and np.random.random() == first


def test_the_pooled_standard_deviation_and_the_seeds_that_an_interval_needs() -> None:
    family = compare_with_baseline([[1.0, 2.0, 3.0], [5.0, 5.0, 8.0]], [0.0, 1.0, 2.0, 3.0])
    assert family is not None
    assert family.sd == pytest.approx(math.sqrt((2 + 6 + 5) / 7))
    needed = family.seeds_for(0.5)
    error = family.sd * math.sqrt(1 / needed + 1 / (needed * math.sqrt(2)))
    one_less = family.sd * math.sqrt(1 / (needed - 1) + 1 / ((needed - 1) * math.sqrt(2)))
    assert family.quantile * error <= 0.5 < family.quantile * one_less


def test_nothing_is_estimated_where_no_value_varies_or_nothing_is_compared() -> None:
    assert compare_with_baseline([[1.0, 1.0, 1.0]], [2.0, 2.0, 2.0]) is None
    assert compare_with_baseline([], [1.0, 2.0]) is None
