"""Translate many sentences: batches of like length, results in the order of the sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mdnmt.config.decoding import Decoding
from mdnmt.decode.beam import Hypothesis, beam_search
from mdnmt.models.transformer import Transformer


def length_batches(lengths: Sequence[int], batch_tokens: int) -> Iterator[list[int]]:
    """Yield the numbers of sentences that are translated together: longest first, at most `batch_tokens` padded."""
    order = sorted(range(len(lengths)), key=lambda index: (-lengths[index], index))
    start = 0
    for position in range(len(order)):
        # Sorted: the first sentence of a batch is its longest.
        if position > start and lengths[order[start]] * (position - start + 1) > batch_tokens:
            yield order[start:position]
            start = position
    if start < len(order):
        yield order[start:]


def translate_ids(
    model: Transformer,
    sources: Sequence[NDArray[np.int32]],
    config: Decoding,
    *,
    device: torch.device,
    domains: Tensor | None = None,
) -> list[list[Hypothesis]]:
    """Return the hypotheses of each sentence, best first.

    Args:
        model: in evaluation mode, on `device`.
        sources: ids of each sentence, ended by </s>.
        config: beam search.
        device: where to compute.
        domains: gold label of each sentence, for methods that use it.
    """
    results: list[list[Hypothesis]] = [[] for _ in sources]
    for numbers in length_batches([len(source) for source in sources], config.batch_tokens):
        source_BS = np.zeros((len(numbers), max(len(sources[number]) for number in numbers)), dtype=np.int64)
        for row, number in enumerate(numbers):
            source_BS[row, : len(sources[number])] = sources[number]
        ids = torch.from_numpy(source_BS).to(device)
        labels = domains[numbers].to(device) if domains is not None else None
        for number, found in zip(numbers, beam_search(model, ids, ids != 0, config, labels), strict=True):
            results[number] = found
    return results
