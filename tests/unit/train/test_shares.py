"""What workers compute of an update adds up to all of it: sentences, losses, gradients."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from mdnmt.errors import ConfigError
from mdnmt.tasks.data import TaskData
from mdnmt.train.batches import collate
from mdnmt.train.run import build_method
from mdnmt.train.shares import deal, form_of, may_cut
from mdnmt.train.step import leave_gradients

CPU = torch.device("cpu")
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "transformer": ("transformer", {}),
    "waldm": ("waldm", {}),
    "waldm-code": ("waldm", {"aux_norm": "code"}),
    "naive": ("naive_waldm", {}),
    "multitask": ("multitask", {}),
    "word-context": ("word_context", {}),
    "dsa": ("domain_aware_attention", {"guidance_weight": 1.0}),
    "latent-depth": ("latent_depth", {}),
    "dmoe": ("dmoe", {"gate_input": "mix"}),
    "dmoe-lb1": ("dmoe", {"gate_input": "mix", "balance_losses": "lb1", "alpha_low": 1.0, "alpha_high": 2.0}),
    "dmoe-lb2": ("dmoe", {"gate_input": "mix", "balance_losses": "lb2", "alpha_low": 1.0, "alpha_high": 2.0}),
}


@pytest.mark.parametrize("cut", [True, False])
@pytest.mark.parametrize("count", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("sizes", [[5], [1], [4, 9], [3, 1, 2, 8]])
def test_every_sentence_is_computed_once(sizes: list[int], count: int, cut: bool) -> None:
    rows = np.arange(sum(sizes), dtype=np.int64)[::-1].copy()
    batches = np.split(rows, np.cumsum(sizes)[:-1])
    shares = [share for rank in range(count) for share in deal(batches, rank, count, may_cut=cut)]
    for number, batch in enumerate(batches):
        mine = [share for share in shares if share.number == number]
        assert sorted(np.concatenate([share.rows for share in mine])) == sorted(batch)
        assert all(len(share.rows) and share.whole is batch for share in mine)
        assert cut or len(mine) == 1
        assert max(len(share.rows) for share in mine) - min(len(share.rows) for share in mine) <= 1


@pytest.mark.parametrize("name", list(METHODS))
def test_shares_add_up_to_the_batch_wherever_it_may_be_cut(name: str, make_spec: Any, toy_task: Path) -> None:
    builder, architecture = METHODS[name]
    torch.manual_seed(0)
    data = TaskData.load(toy_task)
    spec = make_spec(builder, architecture={"dropout": 0.0, **architecture}, clip_norm=0.0)
    method = build_method(spec, data, CPU)
    method.model.double()
    with torch.no_grad():
        for parameter in method.model.parameters():
            parameter += 0.3 * torch.randn_like(parameter)
    method.begin_update(5, 10)
    split = data.split("train")
    # Long and short ones together: only here does it show whose padding is looked at.
    rows = np.argsort(split.target.lengths, kind="stable")[::13].astype(np.int64)
    words = int(split.target.lengths[rows].sum())

    def found(count: int) -> tuple[dict[str, float], dict[str, torch.Tensor]]:
        sums: dict[str, float] = {}
        method.model.zero_grad(set_to_none=True)
        for rank in range(count):
            # What is drawn in training (latent depth) is drawn alike for all rows: not at all.
            method.model.eval()
            shares = deal([rows], rank, count, may_cut=True)
            batches = [collate(split, share.rows, bos=1, like=share.whole) for share in shares]
            weights = [share.weight for share in shares]
            update = leave_gradients(method, batches, spec.training, CPU, None, num_words=words, weights=weights)
            for losses in update.losses:
                for loss, value in losses.items():
                    sums[loss] = sums.get(loss, 0.0) + float(value)
        gradients = {n: p.grad.clone() for n, p in method.model.named_parameters() if p.grad is not None}
        return sums, gradients

    (whole, gradient), (parts, other) = found(1), found(3)
    forms = {loss.name: form_of(loss) for loss in method.losses}
    for loss, form in forms.items():
        if form is None:  # refused for a reason
            assert abs(parts[loss] / whole[loss] - 1.0) > 1e-4
        else:
            assert parts[loss] == pytest.approx(whole[loss], rel=1e-6), loss
    if None not in forms.values():
        assert gradient.keys() == other.keys()
        for parameter, value in gradient.items():
            assert torch.allclose(other[parameter], value, rtol=1e-6, atol=1e-9), parameter
        assert may_cut(method, 3, 1)
    else:
        assert may_cut(method, 3, 3) is False
        with pytest.raises(ConfigError, match="found 3 workers for updates of 2 batches"):
            may_cut(method, 3, 2)


def test_a_loss_that_is_not_known_is_not_cut() -> None:
    class Own:
        name = "own"

        def __call__(self, output: Any, batch: Any) -> torch.Tensor:
            return torch.zeros(())

    assert form_of(Own()) is None
