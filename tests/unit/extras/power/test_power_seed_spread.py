"""Priors of the spread between seeds, and how the study's own seeds replace them."""

from __future__ import annotations

import pytest

from mdnmt.extras.power.seed_spread import PRIOR_WEIGHT, Components, SeedSpread, Spread, pooled

OF_METRIC = {"bleu": Components(seed=0.16, interaction=90.0, sentences=400.0, freedom=20.0)}
PRIOR = SeedSpread(made="", sources=("x",), domain=OF_METRIC, average=OF_METRIC)


def test_the_interaction_shrinks_with_the_test_set_and_the_seeds_part_does_not() -> None:
    spread = Spread(PRIOR)
    assert spread.seed_sd("t", "bleu", False, 1000) == pytest.approx((0.16 + 0.09) ** 0.5)
    assert spread.seed_sd("t", "bleu", False, 10**9) == pytest.approx(0.4, abs=1e-6)
    assert spread.sentence_sd("bleu", 100) == pytest.approx(2.0)


def test_own_seeds_are_weighted_by_their_degrees_of_freedom() -> None:
    own = {("t", "bleu", False): (1.25, 4.0)}
    assert PRIOR_WEIGHT == 4.0  # as many as the study's own: the mean of both variances
    assert Spread(PRIOR, own).seed_sd("t", "bleu", False, 1000) == pytest.approx(((0.25 + 1.25) / 2) ** 0.5)
    many = Spread(PRIOR, {("t", "bleu", False): (1.25, 4000.0)})
    assert many.seed_sd("t", "bleu", False, 1000) == pytest.approx(1.25**0.5, rel=0.001)
    assert many.seed_sd("other", "bleu", False, 1000) == pytest.approx(0.5)


def test_a_metric_without_prior_is_known_from_own_seeds_alone() -> None:
    assert Spread(PRIOR).seed_sd("t", "ter", False, 1000) is None
    assert Spread(PRIOR, {("t", "ter", False): (4.0, 2.0)}).seed_sd("t", "ter", False, 1000) == pytest.approx(2.0)


def test_the_variance_within_rows_leaves_out_how_rows_differ_and_single_seeds() -> None:
    assert pooled([(10.0, 12.0), (50.0, 52.0, 54.0), (99.0,)]) == pytest.approx(((2.0 + 8.0) / 3, 3.0))
    assert pooled([(1.0,), ()]) == (0.0, 0.0)
