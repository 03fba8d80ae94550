"""Predict references token by token (forced decoding): one pass over the test set, for perplexity and accuracy.

Shapes: A sentences in all, B in a batch, S source and T target tokens, N target tokens without padding, R rows of a
chunk, D model width, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from mdnmt.decode.batching import length_batches
from mdnmt.decode.likelihood import Likelihood
from mdnmt.models.context import DomainContext
from mdnmt.models.transformer import Transformer

Ids = Sequence[NDArray[np.int32]]
# (source_BS, mask_BS, target_BT, indices of the sentences) -> the decoder's output [B, T, D]
States = Callable[[Tensor, Tensor, Tensor, list[int]], Tensor]
ROWS = 256  # rows of logits per chunk; with a large vocabulary, those of a whole batch would not fit in memory


def decoder_states(model: Transformer, domain_A: Tensor | None) -> States:
    """Return a function that runs the model on sentences under these domain labels; None: without labels."""

    def states(source_BS: Tensor, mask_BS: Tensor, target_BT: Tensor, numbers: list[int]) -> Tensor:
        context = DomainContext(domain_B=domain_A[numbers].to(source_BS.device) if domain_A is not None else None)
        memory = model.encode(source_BS, mask_BS, context)
        y_BTD: Tensor = model.decoder(model.target_embedding(target_BT), memory, context)
        return y_BTD

    return states


@torch.inference_mode()
def force_decode(
    states: States,
    weight_VD: Tensor,
    sources: Ids,
    targets: Ids,
    *,
    start: int,
    pad: int,
    max_source: int,
    max_target: int,
    batch_tokens: int,
    given: int = 0,
) -> Likelihood:
    """Return the likelihood of each of `targets` under a model in evaluation mode.

    Args:
        states: runs the model, see `decoder_states`.
        weight_VD: weight of the output layer.
        sources: ids of each source sentence, ended by </s>.
        targets: ids of each reference, ended by </s>.
        start: the id that the decoder begins with.
        pad: the padding id.
        max_source: the model's number of source positions; a pair that exceeds it is left out and gets 0 tokens.
        max_target: the same for the target.
        batch_tokens: largest number of tokens of a batch, padding included, on the longer side.
        given: number of ids at the start of each target that are not predicted, such as a language code.
    """
    pieces, nll, correct = [0] * len(targets), [0.0] * len(targets), [0] * len(targets)
    fits = [
        number
        for number, (source, target) in enumerate(zip(sources, targets, strict=True))
        if len(source) <= max_source and len(target) <= max_target
    ]
    lengths = [max(len(sources[number]), len(targets[number])) for number in fits]
    for batch in length_batches(lengths, batch_tokens):
        numbers = [fits[index] for index in batch]
        source_BS = _padded([sources[number] for number in numbers], pad, weight_VD.device)
        label_BT = _padded([targets[number] for number in numbers], pad, weight_VD.device)
        target_BT = torch.cat([torch.full_like(label_BT[:, :1], start), label_BT[:, :-1]], dim=1)
        y_BTD = states(source_BS, source_BS != pad, target_BT, numbers)
        counts = [len(targets[number]) - given for number in numbers]
        places = [(row, given + place) for row, count in enumerate(counts) for place in range(count)]
        row_N, place_N = (torch.tensor(each, device=weight_VD.device) for each in zip(*places, strict=True))
        nll_N, right_N = _predicted(y_BTD[row_N, place_N], weight_VD, label_BT[row_N, place_N])
        sums, rights = torch.split(nll_N.double().cpu(), counts), torch.split(right_N.cpu(), counts)
        for number, count, of_sentence, right in zip(numbers, counts, sums, rights, strict=True):
            pieces[number], nll[number], correct[number] = count, of_sentence.sum().item(), int(right.sum())
    return Likelihood(tuple(pieces), tuple(nll), tuple(correct))


def _predicted(y_ND: Tensor, weight_VD: Tensor, label_N: Tensor) -> tuple[Tensor, Tensor]:
    """Return -ln p of each label, and whether it is the most probable token."""
    nll, right = [], []
    for y_RD, label_R in zip(torch.split(y_ND, ROWS), torch.split(label_N, ROWS), strict=True):
        logits_RV = F.linear(y_RD, weight_VD)
        logits_RV = logits_RV.to(torch.promote_types(logits_RV.dtype, torch.float32))
        nll.append(F.cross_entropy(logits_RV, label_R, reduction="none"))
        right.append(logits_RV.argmax(-1) == label_R)
    return torch.cat(nll), torch.cat(right)


def _padded(rows: Ids, pad: int, device: torch.device) -> Tensor:
    ids_BT = np.full((len(rows), max(map(len, rows))), pad, dtype=np.int64)
    for row, ids in enumerate(rows):
        ids_BT[row, : len(ids)] = ids
    return torch.from_numpy(ids_BT).to(device)
