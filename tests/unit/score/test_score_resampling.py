"""Sums over drawn sentences are exact, however large their counts."""

from __future__ import annotations

import numpy as np
import pytest

from mdnmt.score.significance import resampling
from mdnmt.score.significance.sentence_statistics import Array, SentenceCounts

SENTENCES, TRIALS = 90, 50


def first_sum(sums_RC: Array) -> Array:
    return sums_RC[:, 0].astype(np.float64)


@pytest.mark.parametrize("largest", [100, 2**17, 2**23, 2**30])
def test_sums_of_whole_numbers_are_exact(largest: int) -> None:
    generator = np.random.default_rng(3)
    counts = [generator.integers(largest, size=(SENTENCES, 2)) for _ in range(2)]
    first, second = (SentenceCounts(each, first_sum) for each in counts)
    [found] = resampling.randomised_differences([(first, second)], TRIALS).T
    expected = [
        abs(int(np.where(stays_N > 0, 1, -1) @ (first.counts_NC - second.counts_NC)[:, 0]))
        for _, tosses_RN in resampling._tosses(SENTENCES, TRIALS)
        for stays_N in tosses_RN
    ]
    assert found.tolist() == expected


def test_small_whole_numbers_are_summed_in_single_precision_and_nothing_else() -> None:
    whole = np.full((SENTENCES, 2), 100)
    assert resampling._exact_kind(whole) is np.float32
    assert resampling._exact_kind(whole * 2**20) is np.float64
    assert resampling._exact_kind(whole.astype(np.float64)) is np.float64
