"""Batched beam search over cached keys and values; sentences leave the batch as they finish.

Shapes: B sentences still in the batch, W prefixes per sentence, P = B x W prefixes, S source tokens, T tokens of a
prefix, <s> included, V vocabulary. In `best_continuations`: N continuations that are returned, X candidates per
sentence, C columns of the vocabulary, G tokens of a column, R tokens that do not fill a column.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import torch
from torch import Tensor

from mdnmt.config.decoding import Decoding
from mdnmt.decode.length_penalty import length_penalty
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
    """
    width, device = config.beam_size, source_BS.device
    lengths = mask_BS.sum(1).tolist()
    longest = model.max_target_length
    sentences = [_Sentence(index, _max_length(length, longest, config)) for index, length in enumerate(lengths)]
    done: list[list[Hypothesis]] = [[] for _ in sentences]
    state = model.start(source_BS, mask_BS, domain_B)
    # A sentence begins with one prefix, the empty one.
    score_BW = torch.zeros(len(sentences), 1, device=device)
    token_BWT = torch.full((len(sentences), 1, 1), Vocab.bos, device=device)
    while sentences:
        step = token_BWT.size(2)
        candidates = _candidates(model, state, token_BWT, score_BW, sentences, width)
        top_score, top_parent, top_token = candidates
        ends = top_token == Vocab.eos
        _finish(sentences, token_BWT, top_score, top_parent, ends, config)
        unfinished = []
        for row, sentence in enumerate(sentences):
            if len(sentence.finished) < width and step < sentence.max_length:
                unfinished.append(row)
            else:
                done[sentence.index] = sorted(sentence.finished, key=lambda found: -found.score)
        if not unfinished:
            break
        # The best W candidates that do not end: the stable sort keeps their order of score.
        order_BW = ends.to(torch.uint8).argsort(dim=1, stable=True)[:, :width]
        score_BW, parent_BW, next_BW = (part.gather(1, order_BW) for part in candidates)
        parent_P = (parent_BW + token_BWT.size(1) * torch.arange(len(sentences), device=device).unsqueeze(1)).flatten()
        token_PT = token_BWT.flatten(0, 1).index_select(0, parent_P)
        token_BWT = torch.cat([token_PT.view(*next_BW.shape, step), next_BW.unsqueeze(-1)], dim=2)
        row_B = None
        if len(unfinished) < len(sentences):
            row_B = torch.tensor(unfinished, device=device)
            score_BW, token_BWT = score_BW.index_select(0, row_B), token_BWT.index_select(0, row_B)
            parent_P = parent_P.view(next_BW.shape).index_select(0, row_B).flatten()
            sentences = [sentences[row] for row in unfinished]
        state.select(row_B, parent_P)
    return done


def _max_length(source_length: int, longest: int, config: Decoding) -> int:
    return min(longest, int(config.max_length_ratio * source_length) + config.max_length_extra)


def _candidates(
    model: Transformer,
    state: DecodingState,
    token_BWT: Tensor,
    score_BW: Tensor,
    sentences: list[_Sentence],
    width: int,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return score, parent prefix and token of the 2W best continuations of each sentence, each [B, 2W]."""
    step = token_BWT.size(2)
    logits_PV = model.step(token_BWT[:, :, -1].flatten(), state)
    logits_PV = logits_PV.to(torch.promote_types(logits_PV.dtype, torch.float32))
    log_p_BWV = logits_PV.log_softmax(-1).view(*score_BW.shape, -1)
    log_p_BWV[:, :, Vocab.pad] = -math.inf
    log_p_BWV[:, :, Vocab.bos] = -math.inf
    must_end = [row for row, sentence in enumerate(sentences) if step >= sentence.max_length]
    if must_end:
        end_only = torch.full_like(log_p_BWV[:1], -math.inf).repeat(len(must_end), 1, 1)
        end_only[:, :, Vocab.eos] = log_p_BWV[must_end, :, Vocab.eos]
        log_p_BWV[must_end] = end_only
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
    sentences: list[_Sentence], token_BWT: Tensor, score: Tensor, parent: Tensor, ends: Tensor, config: Decoding
) -> None:
    """Add the continuations that end and are among the best W to the finished hypotheses."""
    ended = (ends & score.isfinite())[:, : config.beam_size].nonzero().tolist()
    if not ended:
        return
    scores, parents = score.tolist(), parent.tolist()
    length = token_BWT.size(2)  # <s> is not counted, </s> is
    for row, rank in ended:
        if len(sentences[row].finished) < config.beam_size:
            ids = tuple(token_BWT[row, parents[row][rank], 1:].tolist())
            value = scores[row][rank] / length_penalty(length, config)
            sentences[row].finished.append(Hypothesis(ids, value))
