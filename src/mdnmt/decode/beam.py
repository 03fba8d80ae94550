"""Batched beam search over cached keys and values; sentences leave the batch as they finish.

Shapes: B sentences still in the batch, W prefixes per sentence, P = B x W prefixes, S source tokens, T tokens of a
prefix without <s>, N candidates per sentence (2W, if the vocabulary has as many), V vocabulary. In
`best_continuations`: X tokens that are sorted, C columns of the vocabulary, G tokens of a column, R tokens that do not
fill a column.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mdnmt.config.decoding import Decoding
from mdnmt.models.transformer import DecodingState, Transformer
from mdnmt.tasks.segmentation.vocabulary import Vocab


@dataclass(frozen=True)
class Hypothesis:
    """A translation: its ids without <s> and </s>, and its score (log-probability / length penalty)."""

    ids: tuple[int, ...]
    score: float


@dataclass
class _Sentence:
    index: int
    max_length: int
    finished: list[Hypothesis] = field(default_factory=list)


@torch.inference_mode()
def beam_search(
    model: Transformer, source_BS: Tensor, mask_BS: Tensor, config: Decoding, domain_B: Tensor | None = None
) -> list[list[Hypothesis]]:
    """Translate a batch; return for each sentence its hypotheses, best first (at most `beam_size`).

    At every step each sentence has `beam_size` prefixes. Of its 2 x beam_size best continuations, those that end and
    are among the best beam_size become finished hypotheses; the best beam_size that do not end are the next prefixes.
    A sentence is done when it has beam_size finished hypotheses. At the maximum length every prefix must end. Sentences
    are independent: the other sentences of a batch change a result only by rounding.

    The device finds the best continuations of a step, and the host waits for it once, to read them. The host then
    chooses the next prefixes, whose tokens it keeps.
    """
    width, device = config.beam_size, source_BS.device
    lengths = mask_BS.sum(1).tolist()
    longest = model.max_target_length
    sentences = [_Sentence(index, _max_length(length, longest, config)) for index, length in enumerate(lengths)]
    done: list[list[Hypothesis]] = [[] for _ in sentences]
    state = model.start(source_BS, mask_BS, domain_B)
    # A sentence begins with one prefix, the empty one.
    score_BW = torch.zeros(len(sentences), 1, device=device)
    newest_P = torch.full((len(sentences),), Vocab.bos, device=device)
    ids_BWT = np.zeros((len(sentences), 1, 0), dtype=np.int64)
    while sentences:
        step = ids_BWT.shape[2] + 1
        candidates = _candidates(model, state, newest_P, score_BW, sentences, step, width)
        # In float64 all three are exact, and together they are one copy.
        scores_BN, parents_BN, tokens_BN = torch.stack([part.double() for part in candidates]).cpu().numpy()
        parents_BN, tokens_BN = parents_BN.astype(np.int64), tokens_BN.astype(np.int64)
        ends_BN = tokens_BN == Vocab.eos
        _finish(sentences, ids_BWT, scores_BN, parents_BN, ends_BN, config)
        rows = []
        for row, sentence in enumerate(sentences):
            if len(sentence.finished) < width and step < sentence.max_length:
                rows.append(row)
            else:
                done[sentence.index] = sorted(sentence.finished, key=lambda found: -found.score)
        if not rows:
            break
        # The best W candidates that do not end: the stable sort keeps their order of score.
        order_BW = np.argsort(ends_BN[rows], axis=1, kind="stable")[:, :width]
        scores, parents, tokens = (
            np.take_along_axis(part[rows], order_BW, axis=1) for part in (scores_BN, parents_BN, tokens_BN)
        )
        prefixes = parents + ids_BWT.shape[1] * np.array(rows)[:, None]
        ids_BWT = np.concatenate(
            [np.take_along_axis(ids_BWT[rows], parents[:, :, None], axis=1), tokens[:, :, None]], axis=2
        )
        score_BW = _sent(scores, device).to(candidates[0].dtype)
        parent_P, newest_P = _sent(np.stack([prefixes.ravel(), tokens.ravel()]), device)
        row_B = _sent(np.array(rows), device) if len(rows) < len(sentences) else None
        sentences = [sentences[row] for row in rows]
        state.select(row_B, parent_P)
    return done


def _sent(values: NDArray[Any], device: torch.device) -> Tensor:
    """Return a tensor on the device, without waiting for what the device is computing."""
    return torch.from_numpy(values).to(device, non_blocking=True)


def _max_length(source_length: int, longest: int, config: Decoding) -> int:
    return min(longest, int(config.max_length_ratio * source_length) + config.max_length_extra)


def _candidates(
    model: Transformer,
    state: DecodingState,
    newest_P: Tensor,
    score_BW: Tensor,
    sentences: list[_Sentence],
    step: int,
    width: int,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return score, parent prefix and token of the 2W best continuations of each sentence, each [B, N]."""
    logits_PV = model.step(newest_P, state)
    logits_PV = logits_PV.to(torch.promote_types(logits_PV.dtype, torch.float32))
    log_p_BWV = logits_PV.log_softmax(-1).view(*score_BW.shape, -1)
    log_p_BWV[:, :, Vocab.pad] = -math.inf
    log_p_BWV[:, :, Vocab.bos] = -math.inf
    must_end = [row for row, sentence in enumerate(sentences) if step >= sentence.max_length]
    if must_end:
        row_B = _sent(np.array(must_end), log_p_BWV.device)
        end_only = torch.full_like(log_p_BWV[:1], -math.inf).repeat(len(must_end), 1, 1)
        end_only[:, :, Vocab.eos] = log_p_BWV[row_B, :, Vocab.eos]
        log_p_BWV[row_B] = end_only
    return best_continuations(score_BW, log_p_BWV, 2 * width)


def best_continuations(score_BW: Tensor, log_p_BWV: Tensor, count: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return score, prefix and token of the `count` best continuations, best first, each [B, count].

    A continuation's score is that of its prefix plus the log-probability of its token. To avoid sorting the whole
    vocabulary, it is split into columns. The best continuations lie in the `count` columns with the best maxima, so
    only the tokens of these columns are sorted, together with the tokens that do not fill a column.
    """
    batch, width, vocab_size = log_p_BWV.shape
    # Tokens of a column: the number with the fewest tokens left over.
    height = min(range(16, 33), key=lambda rows: (vocab_size % rows, rows))
    columns = vocab_size // height
    if columns * width < 4 * count:  # a small vocabulary
        total_BX = (score_BW.unsqueeze(-1) + log_p_BWV).flatten(1)
        score_BN, index_BN = total_BX.topk(min(count, total_BX.size(1)), dim=1)
        return score_BN, index_BN // vocab_size, index_BN % vocab_size
    best_BWC = log_p_BWV[:, :, : height * columns].reshape(batch, width, height, columns).amax(2)
    _, place_BN = (score_BW.unsqueeze(-1) + best_BWC).flatten(1).topk(count, dim=1)
    first_BN = place_BN // columns * vocab_size + place_BN % columns
    steps_G = torch.arange(0, height * columns, columns, device=score_BW.device)
    index_BX = (first_BN.unsqueeze(2) + steps_G).flatten(1)
    if rest := vocab_size - height * columns:
        token_R = torch.arange(vocab_size - rest, vocab_size, device=score_BW.device)
        starts_W = torch.arange(0, width * vocab_size, vocab_size, device=score_BW.device)
        rest_X = (starts_W.unsqueeze(1) + token_R).flatten()
        index_BX = torch.cat([index_BX, rest_X.expand(batch, -1)], dim=1)
    total_BX = score_BW.gather(1, index_BX // vocab_size) + log_p_BWV.flatten(1).gather(1, index_BX)
    score_BN, chosen_BN = total_BX.topk(count, dim=1)
    index_BN = index_BX.gather(1, chosen_BN)
    return score_BN, index_BN // vocab_size, index_BN % vocab_size


def _finish(
    sentences: list[_Sentence],
    ids_BWT: NDArray[np.int64],
    scores_BN: NDArray[np.float64],
    parents_BN: NDArray[np.int64],
    ends_BN: NDArray[np.bool_],
    config: Decoding,
) -> None:
    """Add the continuations that end and are among the best W to the finished hypotheses."""
    penalty = length_penalty(ids_BWT.shape[2] + 1, config)  # <s> is not counted, </s> is
    for row, rank in np.argwhere((ends_BN & np.isfinite(scores_BN))[:, : config.beam_size]).tolist():
        if len(sentences[row].finished) < config.beam_size:
            ids = tuple(ids_BWT[row, parents_BN[row, rank]].tolist())
            sentences[row].finished.append(Hypothesis(ids, float(scores_BN[row, rank]) / penalty))


def length_penalty(length: int, config: Decoding) -> float:
    """Return the length penalty of a hypothesis of `length` tokens, </s> included; alpha is `config.length_penalty`.

    It divides the log-probability, so that short hypotheses are not preferred.

    `power` is length ** alpha, as in fairseq. `gnmt` is ((5 + length) / (5 + 1)) ** alpha (Wu et al. 2016, eq. 14), as
    in tensor2tensor.
    """
    base = (5 + length) / 6 if config.length_penalty_form == "gnmt" else length
    return float(base**config.length_penalty)
