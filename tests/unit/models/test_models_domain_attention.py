"""The domain attention network as a block: its equations, its precision, and the shares that guide it."""

from __future__ import annotations

import math

import pytest
import torch

from mdnmt.models.context import DomainContext
from mdnmt.models.domain_attention import DomainAttention, DomainAwareProjection, domain_vectors
from mdnmt.models.guided_loss import word_domains
from mdnmt.models.projection import Linear

DIM, N = 6, 3


def network() -> DomainAttention:
    def linear() -> Linear:
        return Linear(DIM, DIM, bias=False)

    return DomainAttention(domain_vectors(N, DIM), query=linear(), key=linear(), value=linear())


def test_maps_of_few_rows_equal_maps_of_every_word() -> None:
    torch.manual_seed(3)
    block = DomainAwareProjection(DIM, 3 * DIM, network=network(), side="encoder").double()
    with torch.no_grad():
        block.words.bias.normal_()  # type: ignore[union-attr]
    x_BTD = torch.randn(2, 5, DIM, dtype=torch.float64)
    inner = block.network
    scores = inner.query(x_BTD) @ inner.key(inner.vectors).t() / math.sqrt(DIM)  # eq. 7
    z_BTD = scores.softmax(-1) @ inner.value(inner.vectors)  # eq. 6 and 8
    query, key, value = block.words(x_BTD).chunk(3, dim=-1)
    more_key, more_value = block.domains(z_BTD).chunk(2, dim=-1)
    context = DomainContext()
    found = block(x_BTD, context)
    assert torch.allclose(found, torch.cat([query, key + more_key, value + more_value], dim=-1), rtol=1e-10)
    assert torch.equal(found[..., :DIM], query)
    [recorded] = context.recorded("domain_attention", "encoder")
    assert torch.allclose(recorded, scores, rtol=1e-10)


def test_without_queries_it_gives_keys_and_values() -> None:
    torch.manual_seed(4)
    block = DomainAwareProjection(DIM, 2 * DIM, network=network(), side="memory")
    x_BTD = torch.randn(2, 5, DIM)
    logits_BTN, values_NM = block.network(x_BTD)
    context = DomainContext()
    expected = block.words(x_BTD) + block.domains(logits_BTN.softmax(-1) @ values_NM)
    assert torch.allclose(block(x_BTD, context), expected, atol=1e-6)
    assert len(context.recorded("domain_attention", "memory")) == 1


def test_logits_keep_their_precision_under_autocast() -> None:
    torch.manual_seed(5)
    block = DomainAwareProjection(DIM, 3 * DIM, network=network(), side="encoder")
    x_BTD = torch.randn(2, 5, DIM)
    contexts = DomainContext(), DomainContext()
    plain = block(x_BTD, contexts[0])
    with torch.autocast("cpu", torch.bfloat16):
        found = block(x_BTD, contexts[1])
    assert found.dtype == torch.bfloat16 and torch.allclose(found.float(), plain, atol=0.05)
    expected, logits = (context.recorded("domain_attention", "encoder")[0] for context in contexts)
    assert torch.equal(logits, expected)


def test_vectors_begin_like_words() -> None:
    torch.manual_seed(6)
    assert abs(domain_vectors(60, 512).std().item() * 512**0.5 - 1) < 0.02


COUNTS = torch.tensor([[0, 9, 4, 0, 0], [0, 1, 0, 19, 0]])  # two domains, five words


@pytest.mark.parametrize("slots", [2, 4])
def test_shares_of_words_by_hand(slots: int) -> None:
    found = word_domains(COUNTS, slots, spare_share=0.05)
    # tf + 1/2: (9.5, 4.5, 0.5) / 9.5 in the first domain, (1.5, 0.5, 19.5) / 19.5 in the second.
    tf = [(9.5 / 9.5, 1.5 / 19.5), (4.5 / 9.5, 0.5 / 19.5), (0.5 / 9.5, 19.5 / 19.5)]
    for word, (one, other) in enumerate(tf, start=1):
        shares = [one / (one + other), other / (one + other), *[0.05] * (slots - 2)]
        assert found[word].tolist() == pytest.approx([share / sum(shares) for share in shares], rel=1e-6)
    assert not found[[0, 4]].any(), "a word of no text has no share anywhere"
    assert found.dtype == torch.float32


def test_a_domain_with_more_text_has_no_larger_share() -> None:
    once, often = word_domains(COUNTS * 1000, 2, spare_share=0.01), COUNTS.clone() * 1000
    often[1] *= 7
    assert torch.allclose(word_domains(often, 2, spare_share=0.01), once, atol=1e-3)
