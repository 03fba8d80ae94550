"""Gradient norms and losses of domains are logged, and survive a stop between two lines."""

from __future__ import annotations

import json
import math
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from mdnmt.errors import Interrupted
from mdnmt.tasks.task_data import TaskData
from mdnmt.train.batch_sampler import BatchSampler, UpdateBatches
from mdnmt.train.batches import usable
from mdnmt.train.data_parallel import Workers
from mdnmt.train.meters import GRADIENT_NORM, NUM_NORMS, Meters, NotFinite, Step, pop_domain_losses
from mdnmt.train.metrics_log import read_metrics
from mdnmt.train.progress import Progress
from mdnmt.train.run import train_run
from mdnmt.train.trainer import Trainer


@pytest.mark.slow
@pytest.mark.parametrize("clip_norm", [0.5, 0.0])
def test_the_norm_of_gradients_is_logged_where_it_is_computed(
    tmp_path: Path, make_spec: Any, toy_task: Path, clip_norm: float
) -> None:
    train_run(make_spec(max_updates=4, log_every=2, clip_norm=clip_norm), toy_task, tmp_path, device="cpu")
    records = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    norms = [record.get("gradient_norm") for record in records if record.get("split") == "train"]
    assert len(norms) == 2
    assert all(norm is not None and norm > 0.0 for norm in norms) if clip_norm else norms == [None, None]


def test_norms_of_groups_are_one_norm_and_go_through_a_checkpoint() -> None:
    cpu = torch.device("cpu")
    before, after = (Meters(cpu, Workers(), ["generation"]) for _ in range(2))
    losses = {0: {"generation": torch.tensor(2.0)}}
    step = Step(1, UpdateBatches(0, [0], [np.arange(2)], 7), losses, [torch.tensor(3.0), torch.tensor(4.0)])
    before.add(step)
    after.restore(json.loads(json.dumps(before.read())))
    after.add(step)
    assert after.read() == {"tokens": 14.0, NUM_NORMS: 2.0, "generation": 4.0, GRADIENT_NORM: 10.0}
    # Checkpoints of earlier versions have no norms and no sums of domains.
    after.restore({"tokens": 7.0, "generation": 2.0})
    assert after.read() == {"tokens": 7.0, NUM_NORMS: 0.0, "generation": 2.0, GRADIENT_NORM: 0.0}


def test_the_first_broken_update_is_found_after_the_rows_were_full() -> None:
    small, large = (
        Meters(torch.device("cpu"), Workers(), ["generation", "proportion"], ["law"], capacity=size) for size in (2, 99)
    )
    loss = torch.zeros(2)  # every update overwrites it
    for update in range(1, 8):
        loss.copy_(torch.tensor([float(update), math.nan if update in (4, 5) else 0.5]))
        chosen = UpdateBatches(0, [2 * update, 2 * update + 1], [np.arange(2), np.arange(1)], 3)
        named = dict(zip(("proportion", "generation"), loss, strict=True))
        losses = {0: {"generation": torch.tensor(0.25), "proportion": torch.tensor(1.0)}, 1: named}
        step = Step(update, chosen, losses, [torch.tensor(float(update))], torch.tensor([[2.0], [3.0]]))
        for meters in (small, large):
            meters.add(step)
    for meters in (small, large):
        with pytest.raises(NotFinite, match="the generation loss became nan"):
            meters.read()
        broken = meters.broken_update()
        assert broken is not None
        assert (broken.update, broken.positions, broken.norms) == (4, [9], [4.0])
        assert broken.losses[0] == {"generation": 0.25, "proportion": 1.0} and broken.losses[1]["proportion"] == 4.0
        sums = {key: value for key, value in meters.sums.items() if key != "generation"}
        assert sums == {"tokens": 21.0, "proportion": 35.0, "loss/law": 14.0, "tokens/law": 21.0} | {
            GRADIENT_NORM: 28.0,
            NUM_NORMS: 7.0,
        }
    assert len(small.rows) == 2


def test_losses_of_domains_go_through_a_checkpoint_and_are_per_token() -> None:
    domains = ("law", "news", "talks")
    before, after = (Meters(torch.device("cpu"), Workers(), ["generation"], domains) for _ in range(2))
    sums = torch.tensor([[6.0, 4.0, 0.0], [3.0, 4.0, 0.0]])
    step = Step(1, UpdateBatches(0, [0], [np.arange(2)], 7), {0: {"generation": torch.tensor(10.0)}}, [], sums)
    before.add(step)
    after.restore(json.loads(json.dumps(before.read())))
    after.add(step)
    found = after.read()
    assert pop_domain_losses(found) == {"law": 2.0, "news": 1.0}  # nothing of talks was trained on
    assert found == {"tokens": 14.0, NUM_NORMS: 0.0, "generation": 20.0, GRADIENT_NORM: 0.0}
    after.restore({"tokens": 7.0, "generation": 10.0})
    assert pop_domain_losses(after.read()) == {}


@pytest.mark.slow
def test_a_training_line_has_the_loss_of_each_domain(
    tmp_path: Path, make_spec: Any, toy_task: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = make_spec(max_updates=4, log_every=4)
    train_run(spec, toy_task, tmp_path / "whole", device="cpu")
    # Stopped between two lines.
    update = Trainer._update

    def stopped(self: Trainer) -> None:
        update(self)
        if self.progress.update == 3:
            signal.raise_signal(signal.SIGTERM)

    with monkeypatch.context() as patch, pytest.raises(Interrupted):
        patch.setattr(Trainer, "_update", stopped)
        train_run(spec, toy_task, tmp_path / "run", device="cpu")
    train_run(spec, toy_task, tmp_path / "run", device="cpu")
    [whole], [resumed] = (
        [record for record in read_metrics(tmp_path / name / "metrics.jsonl") if record.get("split") == "train"]
        for name in ("whole", "run")
    )
    losses = whole["domain_losses"]
    assert set(losses) == {"economy", "law"}
    assert resumed["domain_losses"] == losses
    assert min(losses.values()) < whole["loss"] < max(losses.values())
    # The line is about the first updates; their tokens, counted by another way, weigh the losses.
    data = TaskData.load(toy_task)
    split = data.split("train")
    indices = usable(split, [0, 1], spec.training.max_length)
    sampler, progress = BatchSampler(split, indices, spec.training, spec.seed, data.domains), Progress()
    rows = np.concatenate([rows for _ in range(4) for rows in sampler.next(progress).batches])
    tokens = [int(split.target.lengths[rows[split.domains[rows] == label]].sum()) for label in (0, 1)]
    mean = sum(count * losses[domain] for count, domain in zip(tokens, data.domains, strict=True)) / sum(tokens)
    assert mean == pytest.approx(whole["loss"], rel=1e-6)
