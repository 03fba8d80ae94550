"""What workers compute of an update adds up to all of it: sentences, losses, gradients."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from mdnmt.config.training import Training
from mdnmt.errors import ConfigError
from mdnmt.tasks.task_data import TaskData
from mdnmt.train.batches import collate
from mdnmt.train.forward_backward import forward_backward
from mdnmt.train.layout import Layout, make_batch, why_padded
from mdnmt.train.run import build_method
from mdnmt.train.sharding import can_shard, reduction_of, shard

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
    "adapters": ("adapters", {}),
    "dmoe": ("dmoe", {"gate_input": "mix"}),
    "dmoe-lb1": ("dmoe", {"gate_input": "mix", "balance_losses": "lb1", "alpha_low": 1.0, "alpha_high": 2.0}),
    "dmoe-lb2": ("dmoe", {"gate_input": "mix", "balance_losses": "lb2", "alpha_low": 1.0, "alpha_high": 2.0}),
}


@pytest.mark.parametrize("cut", [True, False])
def test_every_sentence_is_computed_once(cut: bool) -> None:
    for sizes, count in product(([5], [1], [4, 9], [3, 1, 2, 8]), (1, 2, 3, 4, 7)):
        rows = np.arange(sum(sizes), dtype=np.int64)[::-1].copy()
        batches = np.split(rows, np.cumsum(sizes)[:-1])
        shards = [one for rank in range(count) for one in shard(batches, rank, count, can_shard=cut)]
        for number, batch in enumerate(batches):
            mine = [one for one in shards if one.number == number]
            assert sorted(np.concatenate([one.rows for one in mine])) == sorted(batch)
            assert all(len(one.rows) and one.batch_rows is batch for one in mine)
            assert cut or len(mine) == 1
            assert max(len(one.rows) for one in mine) - min(len(one.rows) for one in mine) <= 1


@pytest.mark.parametrize("name", list(METHODS))
def test_shards_add_up_to_the_batch_wherever_it_can_be_split(name: str, make_spec: Any, toy_task: Path) -> None:
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
    wide = Training(max_tokens=4000)

    def found(count: int, layout: Layout = "padded") -> tuple[dict[str, float], dict[str, torch.Tensor]]:
        sums: dict[str, float] = {}
        method.model.zero_grad(set_to_none=True)
        for rank in range(count):
            # What is drawn in training (latent depth) is drawn alike for all rows: not at all.
            method.model.eval()
            shards = shard([rows], rank, count, can_shard=True)
            batches = [make_batch(split, one, wide, method, layout, 1, count) for one in shards]
            weights = [one.weight for one in shards]
            update = forward_backward(
                method, batches, spec.training, CPU, None, num_target_tokens=words, weights=weights
            )
            for losses in update.losses:
                for loss, value in losses.items():
                    sums[loss] = sums.get(loss, 0.0) + float(value)
        gradients = {n: p.grad.clone() for n, p in method.model.named_parameters() if p.grad is not None}
        return sums, gradients

    (whole, gradient), (parts, other) = found(1), found(3)
    reductions = {loss.name: reduction_of(loss) for loss in method.losses}
    for loss, reduction in reductions.items():
        if reduction is None:  # refused for a reason
            assert abs(parts[loss] / whole[loss] - 1.0) > 1e-4
        else:
            assert parts[loss] == pytest.approx(whole[loss], rel=1e-6), loss
    if None not in reductions.values():
        assert gradient.keys() == other.keys()
        for parameter, value in gradient.items():
            assert torch.allclose(other[parameter], value, rtol=1e-6, atol=1e-9), parameter
        if why_padded(method, wide) is None:
            _, packed = found(3, "packed")
            assert all(torch.allclose(packed[key], value, rtol=1e-6, atol=1e-9) for key, value in gradient.items())
        assert can_shard(method, 3, 1)
    else:
        assert can_shard(method, 3, 3) is False
        with pytest.raises(ConfigError, match="found 3 workers for updates of 2 batches"):
            can_shard(method, 3, 2)


class OwnLoss:
    """The loss of a user: the mean word vector of each sentence, without or with a reduction over sentences."""

    name = "own"

    def __init__(self, **attributes: str) -> None:
        vars(self).update(attributes)

    def __call__(self, output: Any, batch: Any) -> torch.Tensor:
        sentence_N = batch.label_index_N // batch.target_mask_BT.size(1)
        total_B = torch.zeros(batch.target_mask_BT.size(0), dtype=output.hidden_ND.dtype)
        total_B = total_B.index_add(0, sentence_N, output.hidden_ND.square().mean(1))
        reduced: torch.Tensor = getattr(total_B, getattr(self, "reduction", "sum"))()
        return reduced


@pytest.mark.parametrize("reduction", ["sum", "mean"])
def test_a_users_loss_with_a_reduction_is_sharded(reduction: str, make_spec: Any, toy_task: Path) -> None:
    data, spec = TaskData.load(toy_task), make_spec(architecture={"dropout": 0.0}, clip_norm=0.0)
    method = build_method(spec, data, CPU)
    method = replace(method, losses=[*method.losses, OwnLoss(reduction=reduction)])
    method.model.double().eval()
    rows = np.arange(10, dtype=np.int64)
    assert can_shard(method, 3, 1)
    totals = []
    for count in (1, 3):
        shards = [one for rank in range(count) for one in shard([rows], rank, count, can_shard=True)]
        batches = [collate(data.split("train"), one.rows, bos=1, like=one.batch_rows) for one in shards]
        weights = [one.weight for one in shards]
        found = forward_backward(method, batches, spec.training, CPU, None, num_target_tokens=1, weights=weights)
        totals.append(sum(float(losses["own"]) for losses in found.losses))
    assert totals[0] > 0.1 and totals[1] == pytest.approx(totals[0], rel=1e-9)


def test_a_loss_without_a_reduction_is_not_split_and_an_unknown_one_is_refused() -> None:
    assert reduction_of(OwnLoss()) is None
    with pytest.raises(ConfigError, match="loss 'own': found reduction = 'max', expected 'sum', 'mean' or None"):
        reduction_of(OwnLoss(reduction="max"))
