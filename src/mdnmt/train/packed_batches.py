"""Pack the sentences of a batch into one row of a fixed number of tokens, in at most eight shapes a recipe."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from mdnmt.config.training import Training
from mdnmt.models.batch import Batch
from mdnmt.models.packing import Packing
from mdnmt.tasks.task_data import Indices, Ragged, Split

TOKEN_MULTIPLE = 64  # the tiles of a GPU's matrix units
SHORTEST_CLASS = 4
NUM_SIZES = 8  # for recipes with `batch_sentences`
SIZE_RATIO = 2**0.5


@dataclass(frozen=True)
class PackedShape:
    """The shape of a packed batch.

    Attributes:
        tokens: N, on each side.
        sentences: P, places for sentences.
        longest: L, tokens of the longest sentence that fits.
    """

    tokens: int
    sentences: int
    longest: int


def packed_shape(split: Split, rows: Indices, recipe: Training, parts: int = 1) -> PackedShape:
    """Return the shape of a batch; a function of the text, the recipe and the lengths of its sentences.

    With `max_tokens` all batches have as many tokens, and the class of the longest sentence (4, 8, 16, ...) decides how
    many sentences there can be; there is no room for many more, because a kernel may use memory for each. With
    `batch_sentences` all have as many sentences, and the number of tokens is the smallest of eight sizes that fits.

    Args:
        split: the text.
        rows: the sentences of the whole batch.
        recipe: of the run.
        parts: number of workers that share the batch: the shape is that of the largest part.
    """
    lengths = split.source.lengths[rows], split.target.lengths[rows]
    longest = max(int(lengths[0].max()), int(lengths[1].max()))
    if recipe.batch_sentences is None:
        length_class = max(SHORTEST_CLASS, _power_of_two(longest))
        tokens: float = max(recipe.max_tokens, longest)  # a longer pair is a batch of its own
        shortest = min(longest, 2) if length_class == SHORTEST_CLASS else length_class // 2 + 1
        sentences = int(tokens) // shortest
    else:
        max_length = min(recipe.max_length, max(split.source.longest, split.target.longest))
        length_class, needed = _power_of_two(max_length), max(int(one.sum()) for one in lengths)
        most = recipe.batch_sentences * max_length
        sizes = (most / SIZE_RATIO**step for step in reversed(range(NUM_SIZES)))
        tokens = next(size for size in sizes if size >= needed)
        sentences = recipe.batch_sentences
    if parts > 1:
        # Workers take the sentences in turn, longest first, so a part has at most one sentence more than its share.
        tokens, sentences = tokens / parts + length_class, -(-sentences // parts)
    return PackedShape(math.ceil(tokens / TOKEN_MULTIPLE) * TOKEN_MULTIPLE, sentences, length_class)


def _power_of_two(number: int) -> int:
    return 1 << (number - 1).bit_length()


def collate_packed(split: Split, rows: Indices, shape: PackedShape, *, bos: int) -> Batch:
    """Return the packed batch of some sentences.

    Args:
        split: the text.
        rows: the sentences.
        shape: they fit into it.
        bos: the id of <s>.
    """
    source_N, source_packing = _pack(split.source, rows, shape)
    label_N, target_packing = _pack(split.target, rows, shape)
    decoder_input_N = np.zeros_like(label_N)
    decoder_input_N[1:] = label_N[:-1]
    offsets = target_packing.offsets.numpy()
    decoder_input_N[offsets[: len(rows)]] = bos
    decoder_input_N[offsets[-1] :] = 0
    domain_P = np.zeros(shape.sentences, dtype=np.int64)
    domain_P[: len(rows)] = split.domains[rows]
    return Batch(
        source_BS=torch.from_numpy(source_N).unsqueeze(0),
        source_mask_BS=~source_packing.is_padding_N.unsqueeze(0),
        target_BT=torch.from_numpy(decoder_input_N).unsqueeze(0),
        target_mask_BT=~target_packing.is_padding_N.unsqueeze(0),
        label_N=torch.from_numpy(label_N),
        label_index_N=torch.arange(shape.tokens),
        domain_B=torch.from_numpy(domain_P),
        source_packing=source_packing,
        target_packing=target_packing,
    )


def _pack(side: Ragged, rows: Indices, shape: PackedShape) -> tuple[NDArray[np.int64], Packing]:
    """Return the tokens [N] of one side, with 0 as padding, and where its sentences lie."""
    lengths = side.lengths[rows]
    offsets = np.full(shape.sentences + 1, int(lengths.sum()), dtype=np.int32)
    offsets[: len(rows)] = np.cumsum(lengths) - lengths
    num_tokens = int(offsets[-1])
    sentence = np.repeat(np.arange(len(rows)), lengths)
    position_N = np.zeros(shape.tokens, dtype=np.int64)
    position_N[:num_tokens] = np.arange(num_tokens) - offsets[sentence]
    slot_N = np.full(shape.tokens, -1, dtype=np.int64)
    slot_N[:num_tokens] = sentence * shape.longest + position_N[:num_tokens]
    token_PL = np.full(shape.sentences * shape.longest, -1, dtype=np.int64)
    token_PL[slot_N[:num_tokens]] = np.arange(num_tokens)
    tokens_N = np.zeros(shape.tokens, dtype=np.int64)
    tokens_N[:num_tokens] = side.tokens[np.repeat(side.offsets[rows], lengths) + position_N[:num_tokens]]
    packing = Packing(
        offsets=torch.from_numpy(offsets),
        position_BT=torch.from_numpy(position_N).unsqueeze(0),
        slot_N=torch.from_numpy(slot_N),
        token_PL=torch.from_numpy(token_PL).view(shape.sentences, shape.longest),
        is_padding_N=torch.from_numpy(slot_N < 0),
    )
    return tokens_N, packing
