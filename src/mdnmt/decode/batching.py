"""Translate sentences in batches of similar length and return the results in the original order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mdnmt.config.decoding import Decoding
from mdnmt.decode.beam import Hypothesis, beam_search
from mdnmt.decode.low_precision import prepare_for_decoding
from mdnmt.models.transformer import Transformer


def length_batches(lengths: Sequence[int] | NDArray[np.integer[Any]], batch_tokens: int) -> Iterator[list[int]]:
    """Yield batches of sentence indices, longest first, of at most `batch_tokens` tokens, padding included.

    Sentences of equal length keep their order. A sentence longer than `batch_tokens` is a batch of its own.
    """
    sizes = np.asarray(lengths)
    order = np.argsort(-sizes, kind="stable")
    start = 0
    while start < len(order):
        # Sentences are sorted, so the first one of a batch is its longest.
        end = start + max(1, batch_tokens // max(1, int(sizes[order[start]])))
        yield order[start:end].tolist()
        start = end


def translate_ids(
    model: Transformer,
    sources: Sequence[NDArray[np.int32]],
    config: Decoding,
    *,
    device: torch.device,
    domains: Tensor | None = None,
) -> list[list[Hypothesis]]:
    """Return the hypotheses of each sentence, best first.

    On a CPU, batches are translated in parallel, each by one thread if there are at least as many batches as threads.

    Args:
        model: in evaluation mode, on `device`.
        sources: ids of each sentence, ended by </s>.
        config: beam search.
        device: where to compute.
        domains: label of each sentence, gold or not, for methods that use one; None: no labels.

    Raises:
        ConfigError: the device does not support the requested precision.
    """
    batches = list(length_batches([len(source) for source in sources], config.batch_tokens))
    dtype = torch.get_autocast_dtype(device.type) if torch.is_autocast_enabled(device.type) else None
    if dtype is None:  # autocast already chooses the precision of products
        model = prepare_for_decoding(model, config.precision)

    def translate(numbers: list[int]) -> list[list[Hypothesis]]:
        source_BS = np.zeros((len(numbers), max(len(sources[number]) for number in numbers)), dtype=np.int64)
        for row, number in enumerate(numbers):
            source_BS[row, : len(sources[number])] = sources[number]
        ids = torch.from_numpy(source_BS).to(device)
        labels = domains[numbers].to(device) if domains is not None else None
        with torch.autocast(device.type, dtype, enabled=dtype is not None):
            return beam_search(model, ids, ids != 0, config, labels)

    results: list[list[Hypothesis]] = [[] for _ in sources]
    for numbers, found in zip(batches, _side_by_side(translate, batches, device), strict=True):
        for number, hypotheses in zip(numbers, found, strict=True):
            results[number] = hypotheses
    return results


def _side_by_side(
    translate: Callable[[list[int]], list[list[Hypothesis]]], batches: list[list[int]], device: torch.device
) -> list[list[list[Hypothesis]]]:
    """Return the results of all batches; on a CPU, several batches run in parallel and share its threads."""
    threads = torch.get_num_threads()
    workers = min(threads, len(batches)) if device.type == "cpu" else 1
    if workers < 2:
        return [translate(batch) for batch in batches]
    torch.set_num_threads(threads // workers)  # of each thread that starts from now on
    try:
        with ThreadPoolExecutor(workers) as pool:
            return list(pool.map(translate, batches))
    finally:
        torch.set_num_threads(threads)
