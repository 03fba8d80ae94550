"""The gradients of an update are those of the objective a target word, however it is cut into batches."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from mdnmt.config.training import Training
from mdnmt.train.forward_backward import forward_backward

CPU = torch.device("cpu")
SENTENCES = [([5, 6, 7, 2], [8, 9, 10, 11, 2], 0), ([6, 2], [12, 2], 1), ([9, 7, 2], [5, 6, 2], 1)]


def batch_of(make_batch: Any, rows: list[tuple[list[int], list[int], int]]) -> Any:
    return make_batch(*(list(column) for column in zip(*rows, strict=True)))


@pytest.mark.parametrize("cut", [1, 2])
@pytest.mark.parametrize("clip_norm", [0.0, 0.01])
def test_batches_of_unlike_size_weigh_by_their_words(
    make_batch: Any, random_method: Any, cut: int, clip_norm: float
) -> None:
    recipe = Training(clip_norm=clip_norm)
    gradients, sums = [], []
    for parts in ([SENTENCES], [SENTENCES[:cut], SENTENCES[cut:]]):
        # The proportion loss is a mean over layers of sums over words, so that it too adds up over batches.
        method = random_method("waldm", dropout=0.0)
        found = forward_backward(method, [batch_of(make_batch, part) for part in parts], recipe, CPU, None)
        gradients.append({name: value.grad for name, value in method.model.named_parameters()})
        sums.append({name: sum(float(losses[name]) for losses in found.losses) for name in found.losses[0]})
    whole, pieces = gradients
    assert set(sums[0]) == {"generation", "proportion"}
    assert sums[0] == pytest.approx(sums[1])
    for name, gradient in whole.items():
        torch.testing.assert_close(pieces[name], gradient, rtol=1e-6, atol=1e-9, msg=name)
    norms = [torch.stack([p.grad.norm() for p in group]).norm().item() for group in method.clip_groups()]
    assert len(norms) == 2
    assert all((norm <= 0.0100001) == bool(clip_norm) for norm in norms)


@pytest.mark.parametrize("form", [("transformer", {}), ("word_context", {"weighted_loss": "aligned"}), ("dmoe", {})])
def test_sums_of_domains_are_the_losses_of_their_sentences(
    make_batch: Any, random_method: Any, form: tuple[str, dict[str, Any]]
) -> None:
    method = random_method(form[0], dropout=0.0, num_domains=3, **form[1])
    recipe = Training()

    def found(*batches: list[tuple[list[int], list[int], int]]) -> Any:
        return forward_backward(
            method, [batch_of(make_batch, one) for one in batches], recipe, CPU, None, num_domains=3
        )

    whole = found(SENTENCES[::2], SENTENCES[1:2])
    assert whole.domain_sums[1].tolist() == [5.0, 5.0, 0.0]
    for domain in range(2):
        own = found([sentence for sentence in SENTENCES if sentence[2] == domain])
        assert float(whole.domain_sums[0, domain]) == pytest.approx(float(own.losses[0]["generation"]), rel=1e-9)
    assert float(whole.domain_sums[0, 2]) == 0.0
    assert forward_backward(method, [batch_of(make_batch, SENTENCES)], recipe, CPU, None).domain_sums is None
