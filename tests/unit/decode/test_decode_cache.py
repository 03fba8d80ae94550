"""The tree of prefixes and its caches; test_every_method.py shows for every form that decoding with them is right."""

from __future__ import annotations

import torch
from torch import Tensor

from mdnmt.models.cache import STEPS_BETWEEN_DROPS, KeyValueCache, PrefixTree

HEADS, WIDTH = 2, 3


def seen(cache: KeyValueCache, keys: Tensor, values: Tensor) -> list[list[set[tuple[float, ...]]]]:
    """Return for each sentence and prefix the keys and values that it sees, of all heads."""
    mask_BWN = cache.tree.sees_B1WN[:, 0]
    together = torch.cat([keys, values], dim=-1).transpose(1, 2).flatten(2)  # [B, N, all heads]
    return [
        [{tuple(cell.tolist()) for cell in cells[row]} for row in rows]
        for rows, cells in zip(mask_BWN, together, strict=True)
    ]


def test_every_prefix_sees_its_own_words_whoever_is_dropped() -> None:
    generator = torch.Generator().manual_seed(0)
    tree, sentences, width = PrefixTree(), 4, 3
    cache = KeyValueCache(tree)
    expected: list[list[set[tuple[float, ...]]]] = [[set() for _ in range(width)] for _ in range(sentences)]
    most = 0
    for step in range(1, 5 * STEPS_BETWEEN_DROPS):
        k_BHWE, v_BHWE = (torch.randn(sentences, HEADS, width, WIDTH, generator=generator) for _ in range(2))
        tree.grow(sentences, width, torch.device("cpu"))
        keys, values = cache.append(k_BHWE, v_BHWE)
        new = torch.cat([k_BHWE, v_BHWE], dim=-1).transpose(1, 2).flatten(2)
        expected = [
            [beam | {tuple(new[b, w].tolist())} for w, beam in enumerate(beams)] for b, beams in enumerate(expected)
        ]
        assert seen(cache, keys, values) == expected
        assert all(len(beam) == step for beams in expected for beam in beams)
        most = max(most, keys.size(2))
        parents = torch.randint(width, (sentences, width), generator=generator)
        kept = torch.tensor([0, 2]) if step == 13 else None  # two of the four sentences are finished
        rows = range(sentences) if kept is None else kept.tolist()
        expected = [[expected[b][w] for w in parents[b].tolist()] for b in rows]
        prefixes = (torch.arange(sentences).unsqueeze(1) * width + parents)[list(rows)].flatten()
        cells = tree.select(prefixes, len(rows))
        cache.select(kept, cells)
        sentences = len(rows)
    # Beams have a common beginning: what none of them sees does not pile up.
    assert most < step + 2 * STEPS_BETWEEN_DROPS * width < step * width


def test_a_single_beam_sees_everything_and_drops_nothing() -> None:
    tree = PrefixTree()
    cache = KeyValueCache(tree)
    keys = torch.randn(2, HEADS, 20, WIDTH)
    for step in range(20):
        tree.grow(2, 1, torch.device("cpu"))
        found, _ = cache.append(keys[:, :, step : step + 1], keys[:, :, step : step + 1])
        assert torch.equal(found, keys[:, :, : step + 1])
        assert tree.sees_B1WN.all()
        assert tree.select(torch.arange(2), 2) is None
