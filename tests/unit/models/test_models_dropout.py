"""Dropout stands where it should: in training a share of p is zero and the rest grows, elsewhere nothing happens."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
import torch
from torch import Tensor, nn

from mdnmt.models.attention import CrossAttention, SelfAttention
from mdnmt.models.context import DomainContext
from mdnmt.models.experts import Experts
from mdnmt.models.feed_forward import FeedForward
from mdnmt.models.latent_depth import LatentResidual
from mdnmt.models.projection import Linear
from mdnmt.models.residual import Residual

P = 0.25
DIM = 6
WORDS = 4000


def passes_on(x_BTD: Tensor, context: DomainContext | None = None) -> Tensor:
    return x_BTD


def ones(*shape: int) -> Tensor:
    return torch.ones(*shape, dtype=torch.float64)


def assert_dropped(values: Tensor, kept: float) -> None:
    """Assert that a share P of the values is 0 and all others are `kept` / (1 - P)."""
    dropped = values.abs() < 1e-12
    assert dropped.double().mean().item() == pytest.approx(P, abs=0.02)
    assert torch.allclose(values[~dropped], torch.full_like(values[~dropped], kept / (1 - P)))


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("latent", [False, True])
def test_of_what_a_block_gives_to_the_residual_connection(norm: str, latent: bool) -> None:
    torch.manual_seed(1)
    make: Callable[..., nn.Module] = partial(LatentResidual, number=0) if latent else Residual
    residual = make(DIM, norm_order=norm, dropout=P).double()
    residual.norm = nn.Identity()  # only what is added is looked at
    context = DomainContext(use_BN=ones(1, 1))
    x = ones(1, WORDS, DIM)
    residual.train()
    assert_dropped(residual(x, lambda h: 3 * torch.ones_like(h), context) - x, kept=3.0)
    residual.eval()
    assert torch.equal(residual(x, lambda h: 3 * torch.ones_like(h), context), 4 * x)


def test_inside_the_feed_forward_block() -> None:
    torch.manual_seed(1)
    block = FeedForward(DIM, DIM, projection=Linear, dropout=P).double()
    block.first, block.second = nn.Identity(), nn.Identity()  # type: ignore[assignment]
    block.first.forward = block.second.forward = passes_on  # type: ignore[assignment, method-assign]
    block.train()
    assert_dropped(block(2 * ones(1, WORDS, DIM)), kept=2.0)
    block.eval()
    assert torch.equal(block(2 * ones(1, 5, DIM)), 2 * ones(1, 5, DIM))


def test_inside_the_experts() -> None:
    torch.manual_seed(1)
    experts = Experts(DIM, DIM, 2, dropout=P).double()
    with torch.no_grad():
        experts.first_weight.copy_(torch.eye(DIM).expand(2, DIM, DIM))
        experts.second_weight.copy_(torch.eye(DIM).unsqueeze(1).expand(DIM, 2, DIM))
    first_alone = torch.tensor([1.0, 0.0], dtype=torch.float64).expand(1, WORDS, 2)
    experts.train()
    assert_dropped(experts(ones(1, WORDS, DIM), first_alone), kept=1.0)
    experts.eval()
    assert torch.allclose(experts(ones(1, WORDS, DIM), first_alone), ones(1, WORDS, DIM))


@pytest.mark.slow
def test_of_the_weights_of_attention() -> None:
    torch.manual_seed(1)
    words = torch.randn(1, 3, DIM, dtype=torch.float64)
    plain = {"out_projection": Linear, "dropout": P}
    own = SelfAttention(DIM, 2, projection=Linear, **plain).double()
    cross = CrossAttention(DIM, 2, query_projection=Linear, key_value_projection=Linear, **plain).double()

    def attend_own() -> Tensor:
        return own(words)

    def attend_other() -> Tensor:
        return cross(words, cross.keys_values(words, None))

    for module, attend in ((own, attend_own), (cross, attend_other)):
        module.eval()
        without = attend()
        assert torch.equal(attend(), without)
        module.train()
        drawn = torch.stack([attend() for _ in range(4000)])
        assert drawn.std(0).min() > 0.01
        # What is kept grows by 1 / (1 - p), so that the mean stays.
        assert torch.allclose(drawn.mean(0), without, atol=4 * drawn.std().item() / 4000**0.5)
