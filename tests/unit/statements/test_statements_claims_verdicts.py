"""Whether numbers over seeds decide a comparison, and comparisons a claim, against independent computations."""

from __future__ import annotations

import itertools
import math
import statistics
from typing import Any

import numpy as np
import pytest
import scipy.stats
from claim_data import fulfilled
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from mdnmt.config.claim_rule import Threshold
from mdnmt.statements.claims import decide, seed_samples
from mdnmt.statements.claims.outcome import Comparison

NUMBERS = st.floats(0, 60).map(lambda x: round(x, 2))
BOUNDS = st.sampled_from([{"above": 0.0}, {"above": 1.5}, {"below": 0.0}, {"below": -2.0}, {"within": 3.0}])


@pytest.mark.filterwarnings("ignore:Precision loss")  # of scipy, where all values are the same
@settings(max_examples=60, deadline=None)
@given(
    left=st.lists(NUMBERS, min_size=1, max_size=4),
    right=st.lists(NUMBERS, min_size=1, max_size=4),
    times=st.sampled_from([1.0, 0.5, 2.0]),
    threshold=BOUNDS,
)
def test_two_samples_are_compared_by_welchs_interval(
    left: list[float], right: list[float], times: float, threshold: dict[str, float]
) -> None:
    found = seed_samples.compare(
        Threshold(**threshold), seed_samples.of_values(left), seed_samples.of_values(right), times=times, what="x"
    )
    scaled = [times * value for value in right]
    difference = statistics.fmean(left) - statistics.fmean(scaled)
    assume(abs(difference - next(iter(threshold.values()))) > 1e-9)
    assert found.difference == pytest.approx(difference, abs=1e-9)
    assert found.toward is fulfilled(threshold, difference)
    assert found.num_seeds == min(len(left), len(right))
    if min(len(left), len(right)) < 2:
        assert (found.half_width, found.holds) == (None, None)
        return
    if statistics.stdev(left) == statistics.stdev(right) == 0:
        assert found.half_width is None  # nothing varies: no interval, and with up to 4 seeds only 4 of each decide
        assert (found.holds is not None) == (min(len(left), len(right)) == 4)
        return
    low, high = scipy.stats.ttest_ind(left, scaled, equal_var=False).confidence_interval(0.95)
    assert found.half_width == pytest.approx((high - low) / 2, rel=1e-6, abs=1e-9)
    if min(len(left), len(right)) < 3:
        assert found.holds is None
    elif all(abs(edge - bound) > 1e-6 for edge in (low, high) for bound in (*threshold.values(), -3.0)):
        points = [fulfilled(threshold, number) for number in np.linspace(low, high, 2001)]
        assert found.holds is (True if all(points) else None if any(points) else False)


def test_the_limits_of_a_threshold() -> None:
    for threshold, low, high, expected in (
        ({"above": 1.0}, 1.1, 2.0, True),
        ({"above": 1.0}, 1.0, 2.0, None),  # the bound itself is not above it
        ({"above": 1.0}, 0.5, 1.0, False),
        ({"above": 1.0}, 0.5, 1.1, None),
        ({"below": 1.0}, 0.0, 0.9, True),
        ({"below": 1.0}, 0.0, 1.0, None),
        ({"below": 1.0}, 1.0, 2.0, False),
        ({"within": 0.5}, -0.4, 0.4, True),
        ({"within": 0.5}, -0.5, 0.4, None),
        ({"within": 0.5}, 0.5, 0.9, False),
        ({"within": 0.5}, -0.9, -0.5, False),
        ({"within": 0.5}, -1.0, 1.0, None),
        ({}, 0.1, 0.2, True),  # above 0
        ({}, 0.0, 0.0, False),
    ):
        assert seed_samples.fulfils(Threshold(**threshold), low, high) is expected, (threshold, low, high)


def test_one_number_against_a_threshold_and_numbers_that_no_seed_changes() -> None:
    ones = seed_samples.of_values([1.0, 1.2, 1.4])
    found = seed_samples.compare(Threshold(above=1.0), ones, what="x")
    expected = scipy.stats.t.interval(0.95, 2, 1.2, 0.2 / math.sqrt(3))
    assert found.half_width == pytest.approx((expected[1] - expected[0]) / 2)
    assert (found.right, found.num_seeds, found.holds) == (None, 3, None)
    exact, measured = seed_samples.Sample(10.0, slack=0.0), seed_samples.Sample(9.0, slack=0.45)
    assert seed_samples.compare(Threshold(), exact, exact, what="x").holds is False
    close = seed_samples.compare(Threshold(above=0.8), exact, measured, what="x")
    assert (close.half_width, close.holds, close.num_seeds) == (0.45, None, None)
    assert seed_samples.compare(Threshold(above=0.5), exact, measured, what="x").holds is True
    doubted = seed_samples.compare(Threshold(), seed_samples.Sample(10.0, slack=0.0, doubt="busy"), measured, what="x")
    assert (doubted.holds, doubted.toward, doubted.doubt) == (None, True, "busy")


@pytest.mark.parametrize("sides", [1, 2])
@pytest.mark.parametrize("seeds", [3, 4, 5, 6])
def test_where_no_seed_differs_an_exact_test_decides(seeds: int, sides: int) -> None:
    samples = [seed_samples.of_values([value] * seeds) for value in (1.0, 0.5)[:sides]]
    found = seed_samples.compare(Threshold(above=0), *samples, what="x")
    if sides == 1:
        expected = scipy.stats.binomtest(seeds, seeds, 0.5).pvalue
    else:
        ends = [1.0] * seeds + [0.5] * seeds
        splits = list(itertools.combinations(range(2 * seeds), seeds))
        sums = [abs(sum(ends[k] for k in split) - 0.75 * seeds) for split in splits]
        expected = sum(one >= max(sums) - 1e-9 for one in sums) / len(splits)
    assert found.p == pytest.approx(expected)
    assert found.holds is (True if expected <= 0.05 else None) and found.half_width is None
    needed = {1: 6, 2: 4}[sides]
    assert (found.doubt is None) == (seeds >= needed)
    if found.doubt is not None:
        assert f"a verdict needs {needed} seeds" in found.doubt


def test_equal_seeds_at_the_threshold_decide_nothing() -> None:
    ones = seed_samples.of_values([1.0] * 9)
    assert (seed_samples.compare(Threshold(above=1.0), ones, what="x").p) == 1.0
    # 0.1 + 0.2 is not 0.3 in floating point: this does not make a spread.
    almost = seed_samples.of_values([0.3, 0.1 + 0.2, 0.3])
    assert seed_samples.compare(Threshold(above=0.0), almost, what="x").p == 0.25


def test_what_cannot_be_tested_is_not_corrected_for() -> None:
    clear = Comparison(what="x", toward=False, holds=False, p=0.004)
    open_one = Comparison(what="y", toward=True, p=0.3)
    one_seed = Comparison(what="z", toward=True, tested=False, num_seeds=1)
    family = [clear] + [open_one] * 9
    assert decide.verdict_of("all", family) == "not reproduced"  # 10 * 0.004 = 0.04
    assert decide.verdict_of("all", [*family, *[one_seed] * 50]) == "not reproduced"
    assert decide.verdict_of("all", [*family, *[open_one] * 50]) == "inconclusive"  # 60 * 0.004 = 0.24
    # But it may still hold or fail: all or most of the comparisons are not shown without it.
    held = [Comparison(what="x", toward=True, holds=True, p=1e-6)] * 5
    assert decide.verdict_of("all", [*held, one_seed]) == "inconclusive"
    assert [decide.verdict_of("most", [*held, *[one_seed] * n]) for n in (4, 5)] == ["reproduced", "inconclusive"]
    assert decide.verdict_of("all", [one_seed] * 3) == "inconclusive"


@pytest.mark.parametrize("needed", ["all", "most", "one", 0.5, 0.66, 1.0])
def test_a_verdict_is_what_every_way_to_end_agrees_on(needed: Any) -> None:
    for number in range(7):
        for states in itertools.combinations_with_replacement([True, False, None], number):
            check_verdict(needed, list(states))


def check_verdict(needed: Any, states: list[bool | None]) -> None:
    found = [Comparison(what="x", holds=state) for state in states]
    open_ones = sum(state is None for state in states)
    ends = set()
    for choice in itertools.product([True, False], repeat=open_ones):
        rest = iter(choice)
        yes = sum(next(rest) if state is None else state for state in states)
        share = {"all": yes == len(states), "most": 2 * yes > len(states), "one": yes >= 1}
        ends.add(share[needed] if isinstance(needed, str) else yes >= needed * len(states) - 1e-9)
    expected = "inconclusive" if len(ends) > 1 else "reproduced" if ends == {True} else "not reproduced"
    assert decide.verdict_of(needed, found) == (expected if states else "not comparable")
    # With something missing nothing is known but what it could not change.
    absent = Comparison(what="needs y", missing="y")
    settled = {"all": ("not reproduced", False), "one": ("reproduced", True)}
    verdict, state = settled.get(needed, ("", None))
    expected = verdict if state is not None and state in states else "not comparable"
    assert decide.verdict_of(needed, [*found, absent]) == expected


def test_one_failed_comparison_of_many_refutes_only_after_holms_correction() -> None:
    holding = [Comparison(what="x", toward=True, holds=True, p=0.001)] * 47
    for p, rules, expected in [
        (0.04, 1, "inconclusive"),
        (0.0011, 1, "inconclusive"),  # 48 * 0.0011 = 0.053
        (0.001, 1, "not reproduced"),
        (0.001, 2, "inconclusive"),  # the other rule of the claim could refute it as well
    ]:
        failing = Comparison(what="y", toward=False, holds=False, p=p)
        assert decide.verdict_of("all", [*holding, failing], rules) == expected
    # Where one is enough, it is the one that holds that chance makes.
    others = [Comparison(what="x", toward=False, p=0.5)] * 9
    lucky = [Comparison(what="y", toward=True, holds=True, p=p) for p in (0.04, 0.005)]
    assert [decide.verdict_of("one", [*others, one]) for one in lucky] == ["inconclusive", "reproduced"]
    assert decide.verdict_of("all", [Comparison(what="y", toward=True, p=0.04)] * 48) == "reproduced"


def test_a_claim_holds_if_each_rule_does() -> None:
    for expected, verdicts in (
        ("reproduced", ["reproduced", "reproduced"]),
        ("inconclusive", ["reproduced", "inconclusive"]),
        ("not comparable", ["not comparable", "inconclusive", "reproduced"]),
        ("not reproduced", ["not comparable", "not reproduced"]),
        ("not reproduced", ["not tested", "not reproduced"]),
        ("not tested", ["not comparable", "not tested", "inconclusive"]),
    ):
        assert decide.combined_verdict(verdicts) == expected  # type: ignore[arg-type]
