"""The cache of keys and values; test_every_method.py shows for every method that decoding with it equals the whole."""

from __future__ import annotations

import torch

from mdnmt.models.cache import KeyValueCache


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
