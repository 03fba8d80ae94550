"""Holm's correction: the textbook's steps, what it promises, and how many draws it needs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdnmt.score.significance.holm import draws_needed, holm

P_VALUES = st.lists(st.floats(0, 1), min_size=1, max_size=12)


def rejected_by_steps(p_values: list[float], alpha: float) -> set[int]:
    """Go from the smallest p upwards, each held against alpha over how many are left, and stop at the first above."""
    left, found = sorted(range(len(p_values)), key=lambda place: p_values[place]), set()
    while left and p_values[left[0]] * len(left) < alpha:
        found.add(left.pop(0))
    return found


@given(P_VALUES, st.sampled_from([0.01, 0.05, 0.3]))
def test_the_corrected_fall_below_alpha_where_the_steps_reject(p_values: list[float], alpha: float) -> None:
    corrected = holm(p_values)
    assert {place for place, p in enumerate(corrected) if p < alpha} == rejected_by_steps(p_values, alpha)
    assert all(p <= one <= 1 for p, one in zip(p_values, corrected, strict=True))


def test_an_example_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.03]) == [0.03]
    assert holm([]) == []


def test_a_table_of_null_hypotheses_is_wrong_once_in_twenty() -> None:
    tables = np.random.default_rng(1).random((4000, 10))
    wrong = np.mean([min(holm(table.tolist())) < 0.05 for table in tables])
    assert wrong == pytest.approx(0.05, abs=2 * (0.05 * 0.95 / 4000) ** 0.5)
    assert np.mean(tables.min(axis=1) < 0.05) > 0.35  # without


@pytest.mark.parametrize(("comparisons", "needed"), [(1, 800), (15, 12_000), (48, 38_400), (7, 5600)])
def test_draws_leave_room_below_the_smallest_level(comparisons: int, needed: int) -> None:
    assert draws_needed(comparisons, 0.05) == needed
    assert comparisons / (needed + 1) < 0.05 / 39
