"""The test over seeds and sentences: its formulas, and how often it is wrong where the truth is known."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from mdnmt.score.significance.variance_components import seed_test

Array = npt.NDArray[np.float64]
N, R = 60, 100


def scores_of(sentences_SN: Array, weights_RN: Array) -> tuple[Array, Array]:
    return sentences_SN.mean(axis=1), weights_RN @ sentences_SN.T


def weights(generator: np.random.Generator, resamples: int = R, sentences: int = N) -> Array:
    drawn = generator.integers(sentences, size=(resamples, sentences))
    return np.stack([np.bincount(row, minlength=sentences) for row in drawn]) / sentences


def test_the_variance_is_that_of_a_two_way_analysis() -> None:
    """Of a mean, seeds + sentences - interaction, each written from its sums of squares; no share is below 0 here."""
    generator = np.random.default_rng(5)
    sides = [generator.normal(0, 2, (S, 1)) + generator.normal(0, 3, (S, N)) for S in (4, 6)]
    weights_RN = weights(generator, 60_000)
    (one_S, one_RS), (other_S, other_RS) = (scores_of(side, weights_RN) for side in sides)
    found = seed_test(one_S, other_S, one_RS, other_RS, N)

    difference_N = sides[1].mean(axis=0) - sides[0].mean(axis=0)
    sentences = difference_N.var(ddof=1) / N
    seeds = 0.0
    for side in sides:
        S = len(side)
        residual = side - side.mean(1, keepdims=True) - side.mean(0, keepdims=True) + side.mean()
        seeds += side.mean(1).var(ddof=1) / S - (residual**2).sum() / ((S - 1) * (N - 1)) / (N * S)
    assert found.sentence_sd**2 == pytest.approx(sentences, rel=0.02)
    assert found.seed_sd**2 == pytest.approx(seeds, rel=0.02)
    assert found.delta == pytest.approx(sides[1].mean() - sides[0].mean())
    error = (found.seed_sd**2 + found.sentence_sd**2) ** 0.5
    reach = stats.t.ppf(0.975, found.freedom) * error
    assert (found.low, found.high) == pytest.approx((found.delta - reach, found.delta + reach))
    assert found.p == pytest.approx(2 * stats.t.sf(abs(found.delta) / error, found.freedom))


def test_without_sentences_it_is_welchs_test() -> None:
    one_S, other_S = np.array([20.1, 20.9, 20.4]), np.array([21.9, 21.1, 22.4, 21.6])
    still = [np.tile(side, (R, 1)) for side in (one_S, other_S)]
    found = seed_test(one_S, other_S, *still, N)
    expected = stats.ttest_ind(other_S, one_S, equal_var=False)
    assert (found.p, found.freedom) == pytest.approx((expected.pvalue, expected.df))
    assert (found.low, found.high) == pytest.approx(tuple(expected.confidence_interval()))
    pooled = ((2 * one_S.var(ddof=1) + 3 * other_S.var(ddof=1)) / 5) ** 0.5
    assert found.effect == pytest.approx(found.delta / pooled * (1 - 3 / 19))  # Hedges 1981


def test_seeds_that_agree_leave_the_sentences() -> None:
    generator = np.random.default_rng(2)
    sides = [np.tile(generator.normal(0, 1, N), (3, 1)) for _ in range(2)]
    pairs = [scores_of(side, weights(np.random.default_rng(1), 4000)) for side in sides]
    found = seed_test(pairs[0][0], pairs[1][0], pairs[0][1], pairs[1][1], N)
    expected = stats.ttest_rel(sides[1][0], sides[0][0])
    assert found.seed_sd == 0 and found.effect is None
    assert found.freedom == pytest.approx(N - 1)
    assert found.p == pytest.approx(expected.pvalue, rel=0.1)
    same = seed_test(pairs[0][0], pairs[0][0], pairs[0][1], pairs[0][1], N)
    assert (same.delta, same.p, same.low, same.high) == (0, 1, 0, 0)
    assert same.freedom is None, "infinity is no number of JSON"


def plain_bootstrap(one_RS: Array, other_RS: Array, generator: np.random.Generator) -> bool:
    """Call a difference where 0 lies outside 95 % of resamples of seeds and sentences."""
    count = one_RS.shape[1]
    picked = [generator.integers(count, size=(R, count)) for _ in range(2)]
    means = [np.take_along_axis(s, p, axis=1).mean(1) for s, p in zip((one_RS, other_RS), picked, strict=True)]
    low, high = np.quantile(means[1] - means[0], [0.025, 0.975])
    return not low <= 0 <= high


@pytest.mark.parametrize("seeds", [3, 5])
@pytest.mark.parametrize(
    ("of_seeds", "of_sentences", "of_both", "plain_is_wrong"),
    [(1.0, 0.05, 0.05, True), (0.5, 0.3, 0.2, False), (0.0, 0.6, 0.4, False)],
)
def test_one_in_twenty_is_called_where_nothing_differs(
    seeds: int, of_seeds: float, of_sentences: float, of_both: float, plain_is_wrong: bool
) -> None:
    """A small form of benchmarks/seed_test.py."""
    generator = np.random.default_rng(17)
    weights_RN, trials = weights(generator), 400
    ours = plain = 0
    for _ in range(trials):
        sides = []
        for shared in (0.0, generator.normal(0, of_sentences * N**0.5, N)):
            moved = generator.normal(0, of_seeds, (seeds, 1)) + generator.normal(0, of_both * N**0.5, (seeds, N))
            sides.append(scores_of(moved + shared, weights_RN))
        (one_S, one_RS), (other_S, other_RS) = sides
        ours += seed_test(one_S, other_S, one_RS, other_RS, N).p < 0.05
        plain += plain_bootstrap(one_RS, other_RS, generator)
    assert ours / trials <= 0.05 + 2 * (0.05 * 0.95 / trials) ** 0.5
    assert ours / trials > 0.01
    assert (plain / trials > 0.08) == plain_is_wrong
