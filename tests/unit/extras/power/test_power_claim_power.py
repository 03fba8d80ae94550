"""The power of claims against the noncentral t distribution, and against the project's own rules on simulated seeds."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import nct, t, ttest_ind  # type: ignore[import-untyped]

from mdnmt.config.claim_rule import Needed, Threshold
from mdnmt.extras.power.claim_power import (
    POWER,
    CellOfRow,
    Contrast,
    Group,
    at_distance,
    draw,
    scaled,
    seeds_needed,
    shares,
    smallest_effect,
)
from mdnmt.statements.claims.decide import verdict_of
from mdnmt.statements.claims.seed_samples import compare, of_values


def one_against(number: int, sd: float = 1.0, **more: float | str | None) -> tuple[Contrast, ...]:
    """Return the comparisons of so many rows with one baseline."""
    base = CellOfRow("base", "base", sd)
    return tuple(Contrast(CellOfRow(f"c{k}", f"r{k}", sd), base, **more) for k in range(number))  # type: ignore[arg-type]


def everybody(group: Group, count: int) -> dict[str, int]:
    return {cell.row: count for one in group.contrasts for cell in (one.left, one.right) if cell is not None}


@pytest.mark.parametrize(("count", "effect"), [(3, 3.0), (5, 2.0), (10, 1.0)])
def test_one_comparison_has_the_power_of_welchs_test(count: int, effect: float) -> None:
    group = Group("all", one_against(1))
    found, _ = shares([group], draw([group], everybody(group, count), 20000), [[effect]])
    rng = np.random.default_rng(3)
    rows, base = (rng.standard_normal((count, 20000)) for _ in range(2))
    tested = ttest_ind(rows + effect, base, equal_var=False)
    assert found == pytest.approx(((tested.pvalue < 0.05) & (tested.statistic > 0)).mean(), abs=0.015)


def test_the_noncentral_t_of_equal_variances_promises_too_much() -> None:
    """Why power is simulated: with three seeds Welch's test has ten points less."""
    group = Group("all", one_against(1))
    found, _ = shares([group], draw([group], everybody(group, 3), 20000), [[3.0]])
    assert nct.sf(t.isf(0.025, 4), 4, 3 / math.sqrt(2 / 3)) - found == pytest.approx(0.1, abs=0.02)


def test_a_number_against_a_bound_alone_is_a_one_sample_test() -> None:
    group = Group("all", (Contrast(CellOfRow("c", "r", 2.0), None, bound=1.0),))
    found, _ = shares([group], draw([group], {"r": 4}, 20000), [[5.0]])
    assert found == pytest.approx(nct.sf(t.isf(0.025, 3), 3, 4 / (2 / 2)), abs=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("needed", ["all", "most", "one"])
@pytest.mark.parametrize("side", ["above", "below", "within"])
def test_stated_power_is_what_the_rules_achieve_on_simulated_seeds(needed: Needed, side: str) -> None:
    number, count, trials = 4, 3, 1500
    group = Group(needed, one_against(number, bound=4.0, side=side))
    stated = shares([group], draw([group], everybody(group, count), 20000), truth := at_distance([group], 4.0))
    rng, threshold = np.random.default_rng(7), Threshold(**{side: 4.0})
    verdicts = []
    for _ in range(trials):
        base = of_values(rng.standard_normal(count).tolist())
        rows = [of_values((mean + rng.standard_normal(count)).tolist()) for mean in truth[0]]
        verdicts.append(verdict_of(needed, [compare(threshold, row, base, what="x") for row in rows]))
    assert verdicts.count("reproduced") / trials == pytest.approx(stated[0], abs=0.04)
    assert 0.2 < stated[0] < 0.99  # else the comparison above says little


def test_a_claim_whose_effect_is_on_the_wrong_side_is_refuted() -> None:
    group = Group("all", one_against(3))
    reproduced, refuted = shares([group], draw([group], everybody(group, 3)), [[-9.0, 9.0, 9.0]])
    assert reproduced == 0 and refuted > 0.9


def test_the_smallest_effect_has_the_power_and_shrinks_with_seeds() -> None:
    group = Group("all", one_against(2, sd=0.5))
    effects = [smallest_effect([group], everybody(group, count)) for count in (3, 5, 10)]
    assert all(effects) and effects == sorted(effects, key=lambda effect: -(effect or 0))
    again = draw([group], everybody(group, 5), 20000, seed=9)
    assert shares([group], again, at_distance([group], effects[1] or 0))[0] == pytest.approx(POWER, abs=0.03)


def test_no_effect_shows_that_a_difference_is_within_less_than_the_noise() -> None:
    group = Group("all", one_against(1, side="within", bound=0.1))
    assert smallest_effect([group], everybody(group, 3)) is None


def test_seeds_needed_for_the_printed_effect_and_for_half_of_it() -> None:
    group = Group("all", one_against(1, printed=2.0))
    rows = ["base", "r0"]
    whole, half = (seeds_needed([group], scaled([group], scale) or [], rows) for scale in (1.0, 0.5))
    assert whole == 6 and half == 20  # 16.7 by the noncentral t, and 15 and 20 are tried
    at_bound = Group("all", one_against(1, printed=2.0, bound=1.0))
    assert seeds_needed([at_bound], scaled([at_bound], 0.5) or [], rows) is None


def test_a_printed_number_that_is_lacking_is_taken_from_its_neighbours() -> None:
    (first,), (alone,) = one_against(1, printed=3.0), one_against(1)
    group = Group("all", (first, alone))
    assert scaled([group], 0.5) == [[1.5, 1.5]]
    assert scaled([Group("all", (alone,))], 1.0) is None
    assert scaled([Group("all", (alone,))], 1.0, typical=4.0) == [[4.0]]


def test_a_star_is_harder_in_a_larger_table_and_with_fewer_sentences() -> None:
    def power(**more: float) -> float:
        group = Group("all", one_against(1, sd=0.3, **more))
        return shares([group], draw([group], everybody(group, 5)), [[1.0]])[0]

    assert power(family=1, sentence_sd=0.2) > power(family=20, sentence_sd=0.2) > power(family=20, sentence_sd=0.4)
