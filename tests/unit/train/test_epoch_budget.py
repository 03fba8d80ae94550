"""A budget in epochs is so many updates of the run's own text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mdnmt.config.budget import counts_epochs, in_updates
from mdnmt.config.training import Training, merge_recipes
from mdnmt.paths import RunPaths
from mdnmt.tasks.task_data import TaskData
from mdnmt.train.batches import epoch_batches, usable
from mdnmt.train.metrics_log import read_metrics
from mdnmt.train.run import train_run


def test_epochs_in_updates() -> None:
    recipe = in_updates(Training(max_epochs=2.5, validate_every_epochs=0.5), 20)
    assert (recipe.max_updates, recipe.validate_every) == (50, 10)
    assert not counts_epochs(recipe)
    assert in_updates(Training(max_epochs=0.001), 20).max_updates == 1
    assert in_updates(Training(max_updates=7, validate_every=3), 20) == Training(max_updates=7, validate_every=3)


def test_of_two_ways_to_say_the_same_the_later_layer_counts() -> None:
    paper = {"max_epochs": 50, "validate_every_epochs": 1, "batch_sentences": 64, "clip_norm": 1.0}
    study = {"max_updates": 12, "max_tokens": 300}
    assert merge_recipes([paper, study]) == {"validate_every_epochs": 1, "clip_norm": 1.0, **study}
    assert merge_recipes([study, paper]) == paper
    assert merge_recipes([]) == {}


@pytest.mark.parametrize(
    "both",
    [
        {"max_updates": 9, "max_epochs": 2},
        {"validate_every": 9, "validate_every_epochs": 1},
        {"max_tokens": 9, "batch_sentences": 4},
    ],
)
def test_both_at_once_are_refused(both: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="expected one of"):
        Training(**both)


@pytest.mark.slow
@pytest.mark.parametrize("domains", [("law",), ("economy", "law")])
def test_each_run_has_epochs_of_its_own_text(
    make_spec: Any, toy_task: Path, tmp_path: Path, domains: tuple[str, ...]
) -> None:
    data = TaskData.load(toy_task)
    split = data.split("train")
    rows = usable(split, [data.domains.index(domain) for domain in domains], 250)
    batches = epoch_batches(split, rows, max_tokens=400, seed=1, epoch=0)
    an_epoch = -(-len(batches) // 2)
    spec = make_spec(
        "transformer",
        domains=domains,
        max_tokens=400,
        accumulate_batches=2,
        max_epochs=2,
        validate_every_epochs=1,
        average_checkpoints=2,
    )
    train_run(spec, toy_task, tmp_path, device="cpu", threads=1)
    record = json.loads(RunPaths(tmp_path).record.read_text())
    assert record["updates"] == 2 * an_epoch
    assert record["averaged_updates"] == [an_epoch, 2 * an_epoch]
    assert record["spec"]["training"]["max_epochs"] == 2  # as it was asked for
    assert next(iter(read_metrics(RunPaths(tmp_path).metrics)))["max_updates"] == 2 * an_epoch
