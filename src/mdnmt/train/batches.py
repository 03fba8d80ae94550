"""Group sentences into batches: a pure function of (seed, epoch), so a checkpoint needs to store only a position."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from mdnmt.decode.batching import length_batches
from mdnmt.errors import TrainingError
from mdnmt.models.batch import Batch
from mdnmt.models.transformer import TranslationModel
from mdnmt.tasks.task_data import Indices, Ragged, Split, TaskData
from mdnmt.train.domain_sampling import sample


def usable(split: Split, domain_ids: list[int], max_length: int) -> Indices:
    """Return the sentences of the given domains whose two sides have at most `max_length` tokens each."""
    longest = np.maximum(split.source.lengths, split.target.lengths)
    chosen = np.isin(split.domains, domain_ids) & (longest <= max_length)
    return np.flatnonzero(chosen).astype(np.int64)


def refuse_long_sentences(data: TaskData, model: TranslationModel, used: Mapping[str, Sequence[Indices]]) -> None:
    """Refuse a sentence that is too long for the model.

    The source side of the test sets is checked too: all will be translated, and an error now is better than one after
    the training.

    Args:
        data: the task.
        model: the model.
        used: split -> the sentences that training reads, by domain.

    Raises:
        TrainingError: one is longer.
    """
    tested = {**used, "test": [np.arange(len(data.split("test")))]}
    for lang, side, rows_of, limit in (
        (data.source_lang, "source", tested, model.max_source_length),
        (data.target_lang, "target", used, model.max_target_length),
    ):
        for name, of_domains in rows_of.items():
            all_lengths = getattr(data.split(name), side).lengths
            for rows in of_domains:
                lengths = all_lengths[rows]
                if int(lengths.max(initial=0)) > limit:
                    longest = int(lengths.argmax())
                    raise TrainingError(
                        f"task {data.name}, {data.place(name, int(rows[longest]), lang)}: has {lengths[longest]} "
                        f"pieces, the model takes {limit}: remove this sentence from the text or set "
                        "`cleaning.max_characters`; or raise architecture.max_positions"
                    )


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

    Pairs are sorted by the length of their longer side and cut into batches of at most `max_tokens` tokens per side,
    padding included. The batches are then shuffled. Pairs of equal length are in random order: if they were sorted by
    their shorter side, similar pairs would end up in the same batch.

    Args:
        split: training data.
        indices: the sentence pairs to use.
        max_tokens: largest number of tokens of a batch, padding included: number of pairs x longest side. A longer pair
            is a batch of its own.
        seed: of the run.
        epoch: counted from 0.
        batch_sentences: fixed number of pairs per batch, in place of `max_tokens`; the batch of the shortest pairs may
            be smaller.
        shares: domain label -> its share of the epoch's pairs (see `domain_sampling`); None: each pair once.
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
    """Return at most `count` of the rows, evenly spaced, because held-out files follow the order of their corpora."""
    if len(rows) <= count:
        return rows
    chosen: Indices = rows[np.arange(count) * len(rows) // count]
    return chosen


def padded_shape(split: Split, indices: Indices) -> tuple[int, int]:
    """Return the widths S and T to which a batch of these sentences is padded."""
    return int(split.source.lengths[indices].max()), int(split.target.lengths[indices].max())


def collate(split: Split, indices: Indices, *, bos: int, like: Indices | None = None, width_multiple: int = 1) -> Batch:
    """Return the batch of some sentences.

    Args:
        split: the text.
        indices: the sentences.
        bos: the id of <s>.
        like: pad to the widths of a batch of these sentences; None: of `indices`.
        width_multiple: round both widths up to a multiple of this.
    """
    shape = padded_shape(split, indices if like is None else like)
    source_width, target_width = (-(-width // width_multiple) * width_multiple for width in shape)
    source_N, source_index_N, _ = _gather(split.source, indices, source_width)
    label_N, label_index_N, start_B = _gather(split.target, indices, target_width)
    decoder_input_N = np.empty_like(label_N)
    decoder_input_N[1:] = label_N[:-1]
    decoder_input_N[start_B] = bos
    return Batch(
        source_BS=_scatter(source_N, source_index_N, len(indices), source_width),
        source_mask_BS=_scatter(source_N != 0, source_index_N, len(indices), source_width),
        target_BT=_scatter(decoder_input_N, label_index_N, len(indices), target_width),
        target_mask_BT=_scatter(np.ones(len(label_N), dtype=np.bool_), label_index_N, len(indices), target_width),
        label_N=torch.from_numpy(label_N),
        label_index_N=torch.from_numpy(label_index_N),
        domain_B=torch.from_numpy(split.domains[indices].astype(np.int64)),
    )


def _gather(side: Ragged, indices: Indices, width: int) -> tuple[NDArray[np.int64], NDArray[np.int64], Indices]:
    """Return the N tokens of the sentences, their places in a flattened [B, width], and where each sentence begins."""
    lengths_B = side.lengths[indices]
    start_B = np.cumsum(lengths_B) - lengths_B
    place_N = np.arange(int(lengths_B.sum()))
    tokens_N = side.tokens[np.repeat(side.offsets[indices] - start_B, lengths_B) + place_N].astype(np.int64)
    return tokens_N, np.repeat(np.arange(len(indices)) * width - start_B, lengths_B) + place_N, start_B


def _scatter(values_N: NDArray[Any], index_N: NDArray[np.int64], rows: int, width: int) -> torch.Tensor:
    """Return the values as one [rows, width] tensor, padded with 0."""
    padded = np.zeros(rows * width, dtype=values_N.dtype)
    padded[index_N] = values_N
    return torch.from_numpy(padded).view(rows, width)
