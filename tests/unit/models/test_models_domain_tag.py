"""The domain tag as a block: where it stands, and what is masked, with padding on the right."""

from __future__ import annotations

import torch

from mdnmt.models.context import DomainContext
from mdnmt.models.domain_tag import DomainTag
from mdnmt.models.embedding import Embedding

SOURCE = torch.tensor([[5, 6, 2, 0], [2, 0, 0, 0], [7, 8, 9, 2]])
DOMAINS = torch.tensor([1, 0, 1])
# What stands where, tags as 100 + domain.
EXPECTED = {
    "first": [[101, 5, 6, 2], [100, 2], [101, 7, 8, 9, 2]],
    "last": [[5, 6, 101, 2], [100, 2], [7, 8, 9, 101, 2]],
}


def test_words_keep_their_order_and_the_tag_has_a_position() -> None:
    torch.manual_seed(1)
    embedding = Embedding(12, 6, dropout=0.0, max_positions=10)
    for position, rows in EXPECTED.items():
        tag = DomainTag(6, 2, position="first" if position == "first" else "last")
        x_BSD, mask_BS = tag(SOURCE, SOURCE != 0, DomainContext(domain_B=DOMAINS), embedding)
        assert x_BSD.shape == (3, 5, 6)
        assert mask_BS.sum(1).tolist() == [len(row) for row in rows]
        for row, (x_SD, mask_S) in enumerate(zip(x_BSD, mask_BS, strict=True)):
            assert mask_S[: len(rows[row])].all()
            vectors = [tag.weight[word - 100] if word >= 100 else embedding.weight[word] for word in rows[row]]
            assert torch.equal(x_SD[mask_S], embedding.place(torch.stack(vectors).unsqueeze(0))[0])


def test_it_begins_like_a_word() -> None:
    torch.manual_seed(2)
    assert abs(DomainTag(512, 50, position="first").weight.std().item() * 512**0.5 - 1) < 0.02
