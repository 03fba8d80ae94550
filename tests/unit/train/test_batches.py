"""Batches are a pure function of (seed, epoch): every sentence once, within the budget."""

from __future__ import annotations

from itertools import chain, pairwise
from random import Random

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from mdnmt.tasks.segmentation.vocabulary import Vocab
from mdnmt.tasks.task_data import Ragged, Split
from mdnmt.train.batches import collate, epoch_batches, usable

PAIRS = st.lists(st.tuples(st.integers(1, 12), st.integers(1, 12), st.integers(0, 2)), max_size=60)


def split_of(pairs: list[tuple[int, int, int]]) -> Split:
    """Return a split whose sentences have the given lengths, </s> included, and labels."""
    source = [[*range(3, 2 + length), Vocab.eos] for length, _, _ in pairs]
    target = [[*range(40, 39 + length), Vocab.eos] for _, length, _ in pairs]
    sides = [
        Ragged(np.array([*chain(*rows)], dtype=np.int32), np.cumsum([0, *map(len, rows)])) for rows in (source, target)
    ]
    return Split(sides[0], sides[1], np.array([label for _, _, label in pairs], dtype=np.int16))


def listed(batches: list[np.ndarray]) -> list[list[int]]:
    return [batch.tolist() for batch in batches]


@given(PAIRS, st.integers(1, 40), st.integers(0, 2**31), st.integers(0, 1000))
def test_every_sentence_stands_in_one_batch_within_the_budget(
    pairs: list[tuple[int, int, int]], max_tokens: int, seed: int, epoch: int
) -> None:
    split = split_of(pairs)
    indices = usable(split, [0, 2], 10)
    assert indices.tolist() == [
        number for number, (source, target, label) in enumerate(pairs) if max(source, target) <= 10 and label != 1
    ]
    batches = epoch_batches(split, indices, max_tokens=max_tokens, seed=seed, epoch=epoch)
    assert sorted(number for batch in batches for number in batch.tolist()) == indices.tolist()
    for batch in batches:
        longest = max(split.source.lengths[batch].max(), split.target.lengths[batch].max())
        assert len(batch) == 1 or longest * len(batch) <= max_tokens
    # Pairs of like length stand together: between two batches the lengths do not cross.
    longer = np.maximum(split.source.lengths, split.target.lengths)
    ranges = sorted((longer[batch].min(), longer[batch].max()) for batch in batches)
    assert all(before[1] <= after[0] for before, after in pairwise(ranges))
    again = epoch_batches(split, indices, max_tokens=max_tokens, seed=seed, epoch=epoch)
    assert listed(again) == listed(batches)


def test_a_batch_is_as_large_as_its_longer_side_allows() -> None:
    # By their targets alone all six would make one batch of 12 tokens, with a source of 30.
    split = split_of([(1, 2, 0), (2, 2, 0), (2, 2, 0), (3, 2, 0), (4, 2, 0), (5, 2, 0)])
    batches = epoch_batches(split, usable(split, [0], 12), max_tokens=12, seed=1, epoch=0)
    assert sorted(sorted(batch) for batch in listed(batches)) == [[0, 1, 2, 3], [4, 5]]


@given(PAIRS, st.integers(1, 9), st.integers(0, 100))
def test_batches_of_so_many_sentences(pairs: list[tuple[int, int, int]], size: int, epoch: int) -> None:
    split = split_of(pairs)
    indices = usable(split, [0, 2], 10)
    batches = epoch_batches(split, indices, max_tokens=1, batch_sentences=size, seed=3, epoch=epoch)
    assert sorted(number for batch in batches for number in batch.tolist()) == indices.tolist()
    # All have `size` pairs but one, which has the rest, of the shortest.
    assert sorted(len(batch) for batch in batches)[1:] == [size] * (len(batches) - 1)
    assert all(len(batch) <= size for batch in batches)
    longer = np.maximum(split.source.lengths, split.target.lengths)
    ranges = sorted((longer[batch].min(), longer[batch].max()) for batch in batches)
    assert all(before[1] <= after[0] for before, after in pairwise(ranges))
    again = epoch_batches(split, indices, max_tokens=1, batch_sentences=size, seed=3, epoch=epoch)
    assert listed(again) == listed(batches)


def test_the_shorter_side_is_left_to_chance() -> None:
    generator = np.random.default_rng(0)
    split = split_of([(10, int(target), 0) for target in generator.integers(1, 11, 1000)])
    batches = epoch_batches(split, usable(split, [0], 12), max_tokens=400, seed=1, epoch=0)
    means = [split.target.lengths[batch].mean() for batch in batches]
    assert len(batches) == 25
    assert max(abs(mean - split.target.lengths.mean()) for mean in means) < 2  # sorted, they reach from 1 to 10


def test_the_order_depends_on_seed_and_epoch_and_on_no_generator() -> None:
    generator = np.random.default_rng(0)
    split = split_of([(int(a), int(b), 0) for a, b in generator.integers(1, 12, (300, 2))])
    indices = usable(split, [0], 12)

    def order(seed: int, epoch: int) -> list[list[int]]:
        return listed(epoch_batches(split, indices, max_tokens=50, seed=seed, epoch=epoch))

    first = order(1, 0)
    np.random.seed(5)
    torch.manual_seed(5)
    np.random.rand()
    assert order(1, 0) == first
    orders = [first, order(1, 1), order(2, 0), order(0, 1), order(1, 2)]
    for number, one in enumerate(orders):
        for other in orders[:number]:
            # Other batches, not the same ones in another order.
            assert {frozenset(batch) for batch in one} != {frozenset(batch) for batch in other}
            assert one != other
    lengths = [split.target.lengths[batch].max() for batch in first]
    assert lengths != sorted(lengths) and lengths != sorted(lengths, reverse=True)


def test_collate_pads_on_the_right_and_shifts_the_target() -> None:
    split = split_of([(3, 4, 1), (1, 2, 0), (5, 1, 2)])
    batch = collate(split, np.array([0, 2, 1]), bos=1)
    assert batch.source_BS.tolist() == [[3, 4, 2, 0, 0], [3, 4, 5, 6, 2], [2, 0, 0, 0, 0]]
    assert batch.source_mask_BS.tolist() == [[word != 0 for word in row] for row in batch.source_BS.tolist()]
    assert batch.target_BT.tolist() == [[1, 40, 41, 42], [1, 0, 0, 0], [1, 40, 0, 0]]
    assert batch.target_mask_BT.sum(1).tolist() == [4, 1, 2]
    assert batch.label_N.tolist() == [40, 41, 42, 2, 2, 40, 2]
    assert batch.label_index_N.tolist() == [0, 1, 2, 3, 4, 8, 9]
    assert batch.domain_B.tolist() == [1, 2, 0]
    assert batch.num_target_tokens == 7


@given(PAIRS.filter(bool), st.randoms())
def test_collate_holds_every_sentence_as_it_is(pairs: list[tuple[int, int, int]], random: Random) -> None:
    split = split_of(pairs)
    rows = random.sample(range(len(pairs)), random.randint(1, len(pairs)))
    batch = collate(split, np.array(rows), bos=1, like=np.arange(len(pairs)))
    assert batch.source_BS.shape == (len(rows), split.source.lengths.max())
    assert batch.target_BT.shape == (len(rows), split.target.lengths.max())
    labels = torch.zeros(batch.target_BT.numel(), dtype=torch.int64)
    labels[batch.label_index_N] = batch.label_N
    for number, row in enumerate(rows):
        source, target = split.source[row].tolist(), split.target[row].tolist()
        assert batch.source_BS[number].tolist() == source + [0] * (batch.source_BS.size(1) - len(source))
        assert labels.view_as(batch.target_BT)[number][: len(target)].tolist() == target
        assert batch.target_BT[number][: len(target)].tolist() == [1, *target[:-1]]
        assert not batch.target_BT[number][len(target) :].any()
    assert torch.equal(batch.source_mask_BS, batch.source_BS != 0)
    assert torch.equal(batch.target_mask_BT, batch.target_BT != 0)
