"""Batched, cached beam search equals a slow search written from its definition."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from reference import beam as slow

from mdnmt.config.decoding import Decoding
from mdnmt.decode.batching import length_batches, translate_ids
from mdnmt.decode.beam import Hypothesis, best_continuations
from mdnmt.tasks.segmentation.vocabulary import Vocab

SOURCES = [[5, 6, 2], [7, 4, 9, 3, 5, 2], [3, 2], [2], [8, 8, 2]]
FORMS = [("transformer", {"norm": "post"}), ("waldm", {"mixed_sides": "encoder"}), ("waldm", {"norm": "post"})]


def next_word(method: Any, make_batch: Any, source: list[int]) -> Callable[[tuple[int, ...]], Sequence[float]]:
    """Return the model as a function of a prefix: a whole pass over one sentence, no cache."""

    def log_probabilities(words: tuple[int, ...]) -> Sequence[float]:
        with torch.inference_mode():
            logits = method.model(make_batch([source], [[*words, 2]], [0])).logits()
        result: list[float] = logits[-1].log_softmax(-1).tolist()
        return result

    return log_probabilities


def slow_search(method: Any, make_batch: Any, source: list[int], config: Decoding) -> list[slow.Found]:
    return slow.beam_search(
        next_word(method, make_batch, source),
        beam_size=config.beam_size,
        max_length=max(1, min(40, int(config.max_length_ratio * len(source)) + config.max_length_extra)),
        length_penalty=config.length_penalty,
        gnmt=config.length_penalty_form == "gnmt",
    )


def fast_search(method: Any, sources: list[list[int]], config: Decoding) -> list[list[Hypothesis]]:
    ids = [np.array(source, dtype=np.int32) for source in sources]
    return translate_ids(method.model, ids, config, device=torch.device("cpu"))


def assert_same(found: list[Hypothesis], expected: list[slow.Found]) -> None:
    assert [one.ids for one in found] == [ids for ids, _ in expected]
    assert [one.score for one in found] == pytest.approx([score for _, score in expected], rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("penalty", [0.0, 1.0])
@pytest.mark.parametrize(
    ("width", "kernels"), [(1, "plain"), (3, "cpu"), (3, "plain"), (5, "cpu")], indirect=["kernels"]
)
@pytest.mark.parametrize(("builder", "form"), FORMS)
def test_the_slow_search_is_met_alone_and_in_company(
    random_method: Any, make_batch: Any, builder: str, form: Any, width: int, penalty: float
) -> None:
    # Twelve words: the end of a sentence competes at every step.
    method = random_method(builder, vocab=12, seed=width, encoder_layers=1, decoder_layers=1, **form)
    config = Decoding(beam_size=width, length_penalty=penalty, max_length_ratio=1.0, max_length_extra=4)
    together = fast_search(method, SOURCES, config)
    lengths = set()
    for source, found in zip(SOURCES, together, strict=True):
        expected = slow_search(method, make_batch, source, config)
        assert_same(found, expected)
        assert_same(fast_search(method, [source], config)[0], expected)
        assert 1 <= len(found) <= width
        lengths |= {len(one.ids) for one in found}
        scores = [one.score for one in found]
        assert scores == sorted(scores, reverse=True)
    assert len(lengths) > 1


@pytest.mark.parametrize("penalty", [0.6, 2.0])
def test_the_length_penalty_of_gnmt(random_method: Any, make_batch: Any, penalty: float) -> None:
    method = random_method("transformer", vocab=12, seed=3, encoder_layers=1, decoder_layers=1)
    options: dict[str, Any] = {
        "beam_size": 4,
        "length_penalty": penalty,
        "max_length_ratio": 1.0,
        "max_length_extra": 4,
    }
    gnmt, power = Decoding(length_penalty_form="gnmt", **options), Decoding(**options)
    found = fast_search(method, SOURCES, gnmt)
    for source, hypotheses in zip(SOURCES, found, strict=True):
        assert_same(hypotheses, slow_search(method, make_batch, source, gnmt))
    other = fast_search(method, SOURCES, power)
    assert [[one.ids for one in best] for best in found] != [[one.ids for one in best] for best in other]


@pytest.mark.parametrize("seed", range(3))
def test_a_beam_wider_than_the_vocabulary(random_method: Any, make_batch: Any, seed: int) -> None:
    # Three words beside </s>: at the first step most of the five prefixes do not exist.
    method = random_method("transformer", vocab=6, seed=seed, encoder_layers=1, decoder_layers=1)
    sources = [[5, 6, 2], [4, 2], [9, 8, 7, 6, 5, 2]]
    config = Decoding(beam_size=5, max_length_ratio=1.0, max_length_extra=2)
    for source, found in zip(sources, fast_search(method, sources, config), strict=True):
        assert_same(found, slow_search(method, make_batch, source, config))


@pytest.mark.parametrize(("ratio", "extra", "longest"), [(1.0, 0, 3), (0.1, 0, 1), (0.5, 1, 2), (30.0, 0, 40)])
def test_every_hypothesis_ends_at_the_greatest_length(
    random_method: Any, make_batch: Any, ratio: float, extra: int, longest: int
) -> None:
    method = random_method("transformer", vocab=12, encoder_layers=1, decoder_layers=1)
    with torch.no_grad():
        method.model.output_weight[Vocab.eos] = 0.0
        method.model.output_weight[5:] *= 4.0  # the end is unlikely, until it is due
    config = Decoding(beam_size=3, max_length_ratio=ratio, max_length_extra=extra)
    [found] = fast_search(method, [[5, 6, 2]], config)
    assert_same(found, slow_search(method, make_batch, [5, 6, 2], config))
    assert all(len(one.ids) + 1 <= longest for one in found)
    assert max(len(one.ids) + 1 for one in found) == longest
    assert all(not {Vocab.pad, Vocab.bos, Vocab.eos} & set(one.ids) for one in found)


@pytest.mark.slow
def test_the_batch_may_be_cut_anywhere(random_method: Any) -> None:
    method = random_method("waldm", vocab=12, encoder_layers=1, decoder_layers=1)
    whole = fast_search(method, SOURCES, Decoding(beam_size=3))
    for batch_tokens in (1, 6, 9):
        cut = fast_search(method, SOURCES, Decoding(beam_size=3, batch_tokens=batch_tokens))
        assert [[one.ids for one in found] for found in cut] == [[one.ids for one in found] for found in whole]


def test_no_sentence_at_all(random_method: Any) -> None:
    assert fast_search(random_method("transformer"), [], Decoding()) == []


@pytest.mark.parametrize("vocab", [7, 161, 1024, 1500])
@pytest.mark.parametrize(("width", "count"), [(1, 2), (5, 10)])
def test_the_best_continuations_are_those_of_a_whole_sort(vocab: int, width: int, count: int) -> None:
    generator = torch.Generator().manual_seed(vocab)
    for _ in range(20):
        log_p = torch.randn(4, width, vocab, generator=generator).log_softmax(-1)
        log_p[:, :, :2] = -torch.inf
        log_p[3, :, 3:] = -torch.inf  # a sentence that must end
        score = torch.randn(4, width, generator=generator)
        score[2, 1:] = -torch.inf  # prefixes that there are not
        found, parent, word = best_continuations(score, log_p, count)
        total = (score.unsqueeze(-1) + log_p).flatten(1)
        expected = total.sort(dim=1, descending=True).values[:, :count]
        assert torch.equal(found, expected)
        assert torch.equal(total.gather(1, parent * vocab + word), expected)
        assert len({(p, w) for p, w in zip(parent[0].tolist(), word[0].tolist(), strict=True)}) == found.size(1)


@given(st.lists(st.integers(1, 30), max_size=40), st.integers(1, 80))
def test_length_batches_hold_each_sentence_once_within_the_budget(lengths: list[int], budget: int) -> None:
    batches = list(length_batches(lengths, budget))
    assert sorted(number for batch in batches for number in batch) == list(range(len(lengths)))
    for batch in batches:
        assert batch
        padded = max(lengths[number] for number in batch) * len(batch)
        assert len(batch) == 1 or padded <= budget
    # As many as there is room for: the next one would not have fitted.
    for batch, after in pairwise(batches):
        assert lengths[batch[0]] * (len(batch) + 1) > budget and lengths[batch[-1]] >= lengths[after[0]]


def test_length_batches_are_the_longest_first_and_equal_ones_in_their_order() -> None:
    assert list(length_batches([2, 3, 2, 3, 2, 9], 6)) == [[5], [1, 3], [0, 2, 4]]
    assert list(length_batches(np.array([2, 3, 2, 3, 2, 9]), 6)) == [[5], [1, 3], [0, 2, 4]]
    assert list(length_batches([], 6)) == []
