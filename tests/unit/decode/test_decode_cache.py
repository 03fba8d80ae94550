"""Decoding word by word over cached keys and values gives the logits of a whole pass."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from mdnmt.models.cache import KeyValueCache

FORMS = [
    ("transformer", {}),
    ("waldm", {"mixed_sides": "encoder"}),
    ("waldm", {"mixed_sides": "both"}),
    ("waldm", {"mixed_sides": "both", "mix_out_projection": False}),
]


def full_logits(method: Any, make_batch: Any, source: list[int], prefix: list[int]) -> Tensor:
    """Return the logits of the word after `prefix` (without <s>) by one pass over one sentence."""
    output = method.model(make_batch([source], [[*prefix, 2]], [0]))
    return output.logits()[-1]


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize(("builder", "form"), FORMS)
def test_token_by_token_equals_the_whole(
    random_method: Any, make_batch: Any, builder: str, form: Any, norm: str
) -> None:
    method = random_method(builder, num_domains=3, norm=norm, **form)
    sources = [[5, 6, 2], [7, 8, 9, 10, 11, 2], [3, 2]]
    # Longer than the cache's first room (16), so that it has to grow.
    torch.manual_seed(7)
    words = torch.randint(3, 29, (3, 20))
    batch = make_batch(sources, [[*row.tolist(), 2] for row in words], [0, 1, 2])
    expected = method.model(batch).logits().view(3, 21, -1)
    with torch.inference_mode():
        state = method.model.start(batch.source_BS, batch.source_mask_BS, batch.domain_B)
        for t in range(21):
            found = method.model.step(batch.target_BT[:, t], state)
            assert torch.allclose(found, expected[:, t], rtol=1e-9, atol=1e-10), f"word {t}"
    assert state.position == 21


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize(("builder", "form"), FORMS)
def test_beams_may_be_reordered_and_sentences_dropped(
    random_method: Any, make_batch: Any, builder: str, form: Any, norm: str
) -> None:
    method = random_method(builder, num_domains=2, norm=norm, **form)
    sources = [[5, 6, 2], [7, 8, 9, 10, 2], [3, 2]]
    batch = make_batch(sources, [[4, 2]] * 3, [0, 1, 0])
    # (sentence, words) of each of the 3 x 2 prefixes; what is kept after each step, as positions in the list before.
    prefixes = [(row, [word]) for row in range(3) for word in (1, 1)]
    steps: list[tuple[list[int] | None, list[int], list[int]]] = [
        (None, [1, 0, 3, 3, 4, 5], [9, 8, 7, 6, 5, 4]),
        ([0, 2], [1, 1, 5, 4], [12, 13, 14, 15]),
        (None, [0, 1, 3, 2], [4, 6, 8, 3]),
        ([1], [3, 2], [5, 7]),
        (None, [1, 0], [11, 9]),
    ]
    alive = list(range(3))
    with torch.inference_mode():
        state = method.model.start(batch.source_BS, batch.source_mask_BS, batch.domain_B)
        for kept, order, new_words in steps:
            newest = torch.tensor([words[-1] for _, words in prefixes])
            found = method.model.step(newest, state)
            for row, (sentence, words) in enumerate(prefixes):
                expected = full_logits(method, make_batch, sources[sentence], words[1:])
                assert torch.allclose(found[row], expected, rtol=1e-9, atol=1e-10)
            state.select(torch.tensor(kept) if kept is not None else None, torch.tensor(order))
            alive = [alive[row] for row in kept] if kept is not None else alive
            prefixes = [
                (prefixes[place][0], [*prefixes[place][1], word]) for place, word in zip(order, new_words, strict=True)
            ]
            assert [sentence for sentence, _ in prefixes[::2]] == alive
            assert state.context.domain_B.tolist() == [[0, 1, 0][sentence] for sentence in alive]


def test_the_cache_keeps_what_it_was_given() -> None:
    torch.manual_seed(0)
    cache = KeyValueCache()
    keys, values = torch.randn(4, 2, 40, 3), torch.randn(4, 2, 40, 3)
    for t in range(40):
        found = cache.append(keys[:, :, t : t + 1], values[:, :, t : t + 1])
        assert torch.equal(found[0], keys[:, :, : t + 1])
        assert torch.equal(found[1], values[:, :, : t + 1])
        if t % 7 == 6:
            rows = torch.randperm(4)
            cache.select(rows)
            keys, values = keys[rows], values[rows]
    assert cache.length == 40
