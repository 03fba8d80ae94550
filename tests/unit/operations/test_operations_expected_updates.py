"""What a plan takes a budget in epochs for, before the trainer has counted the batches."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mdnmt.config.task import TaskConfig, load_task
from mdnmt.operations.plan.expected_updates import PAIRS_A_DOMAIN, expected_updates
from mdnmt.operations.plan.model_work import FILLED, TOKENS_PER_SENTENCE
from mdnmt.tasks.task_data import TaskData
from mdnmt.train.batch_sampler import BatchSampler
from mdnmt.train.batches import usable

ROOT = Path(__file__).resolve().parents[3]


def task() -> TaskConfig:
    return load_task(ROOT / "config", "jiang-zh-en")


def test_of_a_task_that_is_not_made_from_its_pairs(make_spec: Any, tmp_path: Path) -> None:
    domains = tuple(task().domains)
    pairs = {name: one.train or PAIRS_A_DOMAIN for name, one in task().domains.items()}
    mixed = make_spec("transformer", max_epochs=50).model_copy(update={"domains": domains})
    tokens = sum(pairs.values()) * TOKENS_PER_SENTENCE / (FILLED * mixed.training.max_tokens)
    assert expected_updates(mixed, task(), tmp_path) == 50 * round(tokens)
    single = mixed.model_copy(update={"domains": domains[:1]})
    assert expected_updates(single, task(), tmp_path) < expected_updates(mixed, task(), tmp_path) / 2
    sentences = make_spec("transformer", max_epochs=2, batch_sentences=64).model_copy(update={"domains": domains[:1]})
    assert expected_updates(sentences, task(), tmp_path) == 2 * round(pairs[domains[0]] / 64)


def test_of_a_task_that_is_made_from_its_statistics(make_spec: Any, toy_task: Path) -> None:
    data = TaskData.load(toy_task)
    spec = make_spec("transformer", max_epochs=10, accumulate_batches=2)
    split = data.split("train")
    counted = 10 * BatchSampler(split, usable(split, [0, 1], 250), spec.training, 1).updates_per_epoch()
    assert 0.85 * counted < expected_updates(spec, task(), toy_task) < 1.15 * counted


def test_updates_are_updates(make_spec: Any, tmp_path: Path) -> None:
    assert expected_updates(make_spec("transformer", max_updates=77), task(), tmp_path) == 77
