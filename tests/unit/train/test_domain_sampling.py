"""Domains get their shares of an epoch, by temperature or by weight, as a pure function of seed and epoch."""

from __future__ import annotations

import copy
from collections import Counter
from itertools import chain
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from mdnmt.config.training import DomainSampling, Training
from mdnmt.errors import ConfigError
from mdnmt.tasks.task_data import Ragged, Split
from mdnmt.train.batch_sampler import BatchSampler
from mdnmt.train.batches import epoch_batches, usable
from mdnmt.train.domain_sampling import check_weights, domain_shares
from mdnmt.train.progress import Progress

DOMAINS = ("law", "news", "ted")
SIZES = (800, 150, 50)


def split_of(sizes: tuple[int, ...]) -> Split:
    """Return a split with so many pairs of each domain, of lengths from 2 to 12."""
    lengths = np.random.default_rng(0).integers(2, 13, sum(sizes))
    rows = [[*range(3, 2 + length), 2] for length in lengths]
    side = Ragged(np.array([*chain(*rows)], dtype=np.int32), np.cumsum([0, *map(len, rows)]))
    labels = np.repeat(np.arange(len(sizes)), sizes).astype(np.int16)
    return Split(side, side, labels)


SPLIT = split_of(SIZES)
ALL = usable(SPLIT, [0, 1, 2], 100)


def drawn(sampling: DomainSampling, seed: int = 1, epoch: int = 0) -> list[int]:
    shares = domain_shares(SPLIT.domains, ALL, sampling, DOMAINS)
    batches = epoch_batches(SPLIT, ALL, max_tokens=60, seed=seed, epoch=epoch, shares=shares)
    return [number for batch in batches for number in batch.tolist()]


@pytest.mark.parametrize(
    ("sampling", "expected"),
    [
        ({"temperature": 1}, (800, 150, 50)),
        ({"temperature": 2}, (595, 257, 148)),  # 800, 150, 50 to the power 1/2, scaled to 1000
        ({"temperature": 1e9}, (334, 333, 333)),
        ({"weights": {"law": 2, "news": 5, "ted": 3}}, (200, 500, 300)),
        ({"weights": {"law": 1, "news": 1, "ted": 2}}, (250, 250, 500)),
    ],
)
def test_proportions_of_an_epoch(sampling: dict[str, Any], expected: tuple[int, ...]) -> None:
    rows = drawn(DomainSampling(**sampling))
    found = Counter(SPLIT.domains[rows].tolist())
    assert all(abs(found[label] - count) <= 1 for label, count in enumerate(expected))
    assert len(rows) == len(ALL)
    # Nothing is repeated before everything of its domain was there.
    for label, size in enumerate(SIZES):
        times = Counter(row for row in rows if SPLIT.domains[row] == label)
        most = max(times.values())
        assert most - min(times.get(row, 0) for row in np.flatnonzero(SPLIT.domains == label).tolist()) <= 1
        assert most == -(-found[label] // size)


def test_what_is_drawn_depends_on_seed_and_epoch_alone() -> None:
    sampling = DomainSampling(temperature=5)
    first = drawn(sampling)
    np.random.seed(3)
    assert drawn(sampling) == first
    assert sorted(drawn(sampling, epoch=1)) != sorted(first)
    assert sorted(drawn(sampling, seed=2)) != sorted(first)


def test_an_order_that_is_taken_up_again_goes_on_as_before() -> None:
    recipe = Training(domain_sampling=DomainSampling(temperature=5), batch_sentences=32, accumulate_batches=3)
    sampler, progress = BatchSampler(SPLIT, ALL, recipe, 1, DOMAINS), Progress()
    chosen = [sampler.next(progress) for _ in range(15)]
    saved = Progress()
    fresh = BatchSampler(SPLIT, ALL, recipe, 1, DOMAINS)
    for _ in range(7):
        fresh.next(saved)
    again = BatchSampler(SPLIT, ALL, recipe, 1, DOMAINS)
    later = copy.deepcopy(saved)
    for one in chosen[7:]:
        other = again.next(later)
        assert (one.epoch, one.positions) == (other.epoch, other.positions)
        assert [batch.tolist() for batch in one.batches] == [batch.tolist() for batch in other.batches]
    assert chosen[-1].epoch == 1


def test_a_run_on_one_domain_has_all_of_it() -> None:
    rows = usable(SPLIT, [1], 100)
    sampling = DomainSampling(weights={"law": 2, "news": 5, "ted": 3})
    shares = domain_shares(SPLIT.domains, rows, sampling, DOMAINS)
    assert shares == {1: 1.0}
    batches = epoch_batches(SPLIT, rows, max_tokens=60, seed=1, epoch=0, shares=shares)
    assert sorted(number for batch in batches for number in batch.tolist()) == rows.tolist()


def test_weights_are_of_the_tasks_domains() -> None:
    check_weights(None, DOMAINS)
    check_weights(DomainSampling(temperature=2), DOMAINS)
    with pytest.raises(ConfigError, match="expected a weight for each domain of the task: law, news, ted"):
        check_weights(DomainSampling(weights={"law": 1, "news": 1, "med": 1}), DOMAINS)


@pytest.mark.parametrize("wrong", [{}, {"temperature": 2, "weights": {"a": 1}}, {"temperature": 0}])
def test_either_a_temperature_or_weights(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        DomainSampling(**wrong)
