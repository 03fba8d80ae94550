"""Gradient norms are logged, and survive a stop between two lines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from mdnmt.train.batch_sampler import UpdateBatches
from mdnmt.train.data_parallel import Workers
from mdnmt.train.meters import GRADIENT_NORM, NUM_NORMS, Meters, Step
from mdnmt.train.run import train_run


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
    # Checkpoints of earlier versions have no norms.
    after.restore({"tokens": 7.0, "generation": 2.0})
    assert after.read() == {"tokens": 7.0, NUM_NORMS: 0.0, "generation": 2.0, GRADIENT_NORM: 0.0}
