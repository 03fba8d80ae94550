"""Which sentences make which batch: a pure function of (seed, epoch), so that a position says all there is to save."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from numpy.typing import NDArray

from mdnmt.decode.batches import length_batches
from mdnmt.models.batch import Batch
from mdnmt.tasks.data import Split
from mdnmt.train.domain_sampling import sample

Indices = NDArray[np.int64]


def usable(split: Split, domain_ids: list[int], max_length: int) -> Indices:
    """Return the sentences of the given domains whose two sides have at most `max_length` pieces."""
    longest = np.maximum(split.source.lengths, split.target.lengths)
    chosen = np.isin(split.domains, domain_ids) & (longest <= max_length)
    return np.flatnonzero(chosen).astype(np.int64)


def epoch_batches(
    split: Split,
    indices: Indices,
    *,
    max_tokens: int,
    seed: int,
    epoch: int,
    batch_sentences: int | None = None,
    shares: Mapping[int, float] | None = None,
) -> list[Indices]:
    """Return the batches of an epoch, in order.

    Pairs whose longer sides are alike stand together, as many as `max_tokens` hold on either side with its padding; the
    batches then follow each other in random order. Pairs that are equally long stand in random order: sorted by their
    shorter side they would make batches of one kind each.

    Args:
        split: training data.
        indices: the sentences to use.
        max_tokens: the longest sentence of a batch, of either side, times its number of pairs stays at or below this;
            a pair that is longer by itself makes a batch alone.
        seed: of the run.
        epoch: counted from 0.
        batch_sentences: in place of `max_tokens`: so many pairs a batch, however long they are; the last one of the
            sorted pairs has the rest.
        shares: of each domain's label in the epoch's pairs (see `domain_sampling`); None: each pair once.
    """
    generator = np.random.Generator(np.random.PCG64([seed, epoch]))
    if shares is not None:
        indices = sample(split.domains, indices, shares, generator)
    shuffled = generator.permutation(indices)
    longer = np.maximum(split.source.lengths[shuffled], split.target.lengths[shuffled])
    if batch_sentences is None:
        batches = [shuffled[numbers] for numbers in length_batches(longer, max_tokens)]
    else:
        by_length = shuffled[np.argsort(-longer, kind="stable")]
        batches = [by_length[start : start + batch_sentences] for start in range(0, len(by_length), batch_sentences)]
    return [batches[index] for index in generator.permutation(len(batches))]


def spread(rows: Indices, count: int) -> Indices:
    """Return at most `count` of the rows, evenly spread: held-out files follow the order of their corpora."""
    if len(rows) <= count:
        return rows
    chosen: Indices = rows[np.arange(count) * len(rows) // count]
    return chosen


def pad(rows: list[NDArray[np.int32]], width: int) -> torch.Tensor:
    """Return the rows as one [len(rows), width] tensor, padded with 0 on the right."""
    padded = np.zeros((len(rows), width), dtype=np.int64)
    for index, row in enumerate(rows):
        padded[index, : len(row)] = row
    return torch.from_numpy(padded)


def collate(split: Split, indices: Indices, *, bos: int, like: Indices | None = None) -> Batch:
    """Return the batch of the given sentences, padded as if the sentences `like` were in it; `bos` is the id of <s>."""
    source_rows = [split.source[int(index)] for index in indices]
    target_rows = [split.target[int(index)] for index in indices]
    widest = indices if like is None else like
    source_BS = pad(source_rows, int(split.source.lengths[widest].max()))
    label_BT = pad(target_rows, int(split.target.lengths[widest].max()))
    lengths_B1 = torch.tensor([[len(row)] for row in target_rows])
    target_mask_BT = torch.arange(label_BT.size(1)) < lengths_B1
    target_BT = torch.cat([torch.full_like(label_BT[:, :1], bos), label_BT[:, :-1]], dim=1)
    label_index_N = target_mask_BT.flatten().nonzero().squeeze(1)
    return Batch(
        source_BS=source_BS,
        source_mask_BS=source_BS != 0,
        target_BT=target_BT * target_mask_BT,
        target_mask_BT=target_mask_BT,
        label_N=label_BT.flatten()[label_index_N],
        label_index_N=label_index_N,
        domain_B=torch.from_numpy(split.domains[indices].astype(np.int64)),
    )
