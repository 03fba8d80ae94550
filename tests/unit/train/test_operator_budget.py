"""How many operators a GPU launches for an update, counted on a CPU; each costs it some microseconds."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from recorded_update import Launches
from torch import Tensor

from mdnmt import methods
from mdnmt.config.training import Training
from mdnmt.methods.method import Method, VocabSizes
from mdnmt.models import cross_entropy
from mdnmt.models.kernels import using
from mdnmt.operations.method_checks import make_batch
from mdnmt.train import forward_backward as module
from mdnmt.train.forward_backward import forward_backward
from mdnmt.train.optimiser import Optimiser

CPU = torch.device("cpu")
SIZES = {"model_dim": 32, "ffn_dim": 64, "num_heads": 4, "encoder_layers": 6, "decoder_layers": 6, "norm": "post"}
MIX = {"damha": True, "encoder_ffn": "dmoe", "gate_input": "mix", "balance_losses": "both"}


@pytest.fixture
def like_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a CPU run the operators of a GPU: dropout is one, the output layer has one piece."""
    monkeypatch.setitem(cross_entropy.PIECE_ENTRIES, "cpu", cross_entropy.PIECE_ENTRIES_ELSEWHERE)
    monkeypatch.setitem(cross_entropy.VOCAB_MULTIPLE, "cpu", cross_entropy.VOCAB_MULTIPLE_ELSEWHERE)

    def dropout(x: Tensor, p: float = 0.5, training: bool = True) -> Tensor:
        return torch.native_dropout(x, p, True)[0] if training and p else x

    monkeypatch.setattr(F, "dropout", dropout)


def build(builder: str, options: dict[str, Any]) -> Method:
    """Return a method with the layers of the papers, but narrow."""
    torch.manual_seed(1)
    config = methods.validate(builder, {**SIZES, "share_embeddings": "all", **options}, where="test")
    method = methods.build(builder, config, VocabSizes(50, 50, True), 4)
    method.model.train()
    method.begin_update(5, 10)
    return method


def update(method: Method, optimiser: Optimiser) -> None:
    """Do an update of one batch."""
    batch = make_batch([[5, 6, 7, 2], [5, 2]], [[8, 9, 2], [9, 2]], [0, 1])
    forward_backward(method, [batch], Training(max_updates=10, clip_norm=25.0), CPU, torch.bfloat16)
    optimiser.step(1e-2)


@pytest.mark.parametrize(
    ("builder", "options", "budget"),
    [
        ("transformer", {}, 720),
        ("waldm", {"mixed_sides": "both"}, 1070),
        ("domain_aware_attention", {}, 1130),
        ("dmoe", {"damha": True, "encoder_ffn": "dmoe", "gate_input": "domain"}, 1115),
        ("dmoe", MIX, 1235),
    ],
)
@pytest.mark.usefixtures("like_a_gpu")
def test_an_update_launches_few_operators(builder: str, options: dict[str, Any], budget: int) -> None:
    method = build(builder, options)
    optimiser = Optimiser(method.model, Training())
    with using("plain"):
        update(method, optimiser)  # the first one makes the optimiser's state and the weights in bfloat16
        with Launches() as launches:
            update(method, optimiser)
    found = launches.by_name.total()
    assert 0.95 * budget < found <= budget, launches.by_name.most_common(20)


@pytest.mark.slow
@pytest.mark.parametrize("accumulate", [1, 2])
@pytest.mark.parametrize(
    ("builder", "options"),
    [
        ("waldm", {"weighted_loss": "aligned"}),
        ("waldm", {"labels": "unused_open"}),
        ("domain_aware_attention", {"share_embeddings": "none"}),
        ("dmoe", MIX),
        ("latent_depth", {}),
        ("adapters", {}),
        ("multitask", {}),
        ("naive_waldm", {}),
    ],
)
def test_weights_in_bfloat16_change_no_bit(
    builder: str, options: dict[str, Any], accumulate: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = {**options, "encoder_layers": 2, "decoder_layers": 2}
    recipe = Training(max_updates=10, clip_norm=0.5)
    batches = [make_batch([[5, 6, 7, 2], [5, 2]], [[8, 9, 2], [9 + more, 2]], [more, 1]) for more in range(accumulate)]
    states = []
    for shadowed in (True, False):
        method = build(builder, small)
        optimiser = Optimiser(method.model, recipe)
        with monkeypatch.context() as patch, using("plain"):
            if not shadowed:
                patch.setattr(module, "shadow_weights", lambda model, dtype: None)
            for _ in range(3):
                found = forward_backward(method, batches, recipe, CPU, torch.bfloat16)
                optimiser.step(1e-2)
            if shadowed:
                shadows = module.shadow_weights(method.model, torch.bfloat16)
                assert shadows is not None and len(shadows) > 8
        numbers = [value for losses in found.losses for value in losses.values()]
        states.append([*numbers, *found.norms, *method.model.state_dict().values(), *optimiser.state().values()])
    assert all(torch.equal(one, other) for one, other in zip(*states, strict=True))
