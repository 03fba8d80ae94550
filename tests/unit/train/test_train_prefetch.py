"""Updates prepared ahead are those prepared on demand, from any position; the thread ends with its run."""

from __future__ import annotations

import copy
import signal
import threading
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch

from mdnmt.config.training import Training
from mdnmt.errors import Interrupted
from mdnmt.paths import RunPaths
from mdnmt.tasks.task_data import TaskData
from mdnmt.train import trainer as trainer_module
from mdnmt.train.batch_sampler import BatchSampler
from mdnmt.train.batches import collate, usable
from mdnmt.train.prefetch import Prefetcher, Prepared
from mdnmt.train.progress import Progress
from mdnmt.train.run import train_run
from mdnmt.train.sharding import shard

CPU = torch.device("cpu")


def threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("prefetch")]


def prefetcher(task: Path, ahead: int) -> Prefetcher:
    split = TaskData.load(task).split("train")
    recipe = Training(max_tokens=150, accumulate_batches=2)
    sampler = BatchSampler(split, usable(split, [0, 1], 250), recipe, 3)
    return Prefetcher(
        sampler,
        lambda batches: shard(batches, 0, 1, can_shard=True),
        lambda part: collate(split, part.rows, bos=1),
        device=CPU,
        ahead=ahead,
    )


def place(one: Prepared) -> tuple[Any, ...]:
    rows = [rows.tolist() for rows in one.chosen.batches]
    return one.chosen.epoch, one.chosen.positions, rows, one.epoch, one.position, one.epochs


def test_the_thread_changes_no_update_over_several_epochs_and_from_any_position(toy_task: Path) -> None:
    plain, threaded = prefetcher(toy_task, 0), prefetcher(toy_task, 2)
    skipped = [{"update": 1, "epoch": 0, "positions": [1]}]
    for start in (Progress(), Progress(epoch=1, position=2), Progress(skipped=skipped)):
        plain.seek(start)
        threaded.seek(start)
        before = copy.deepcopy(start)
        for _ in range(12):
            one, other = plain.next(), threaded.next()
            assert place(one) == place(other)
            for batch, twin in zip(one.batches, other.batches, strict=True):
                assert all(map(torch.equal, batch.tensors(), twin.tensors()))
        assert one.epoch > start.epoch and start == before
    assert threads() and not plain._coming
    threaded.close()
    assert not threads()


def test_an_update_taken_says_where_to_go_on(toy_task: Path) -> None:
    first, second = prefetcher(toy_task, 2), prefetcher(toy_task, 2)
    first.seek(Progress())
    taken = [first.next() for _ in range(5)][-1]
    second.seek(Progress(epoch=taken.epoch, position=taken.position))
    assert [place(first.next()) for _ in range(5)] == [place(second.next()) for _ in range(5)]
    first.close()
    second.close()


def test_an_error_of_the_thread_reaches_the_loop(toy_task: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = prefetcher(toy_task, 2)
    broken.seek(Progress())
    monkeypatch.setattr(broken._sampler, "next", lambda progress: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        broken.next()
    broken.close()
    assert not threads()


@pytest.mark.slow
def test_a_run_with_the_thread_stops_resumes_and_ends_as_one_without(
    make_spec: Any, toy_task: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = make_spec("transformer", accumulate_batches=2)
    train_run(spec, toy_task, tmp_path / "plain", device="cpu")
    monkeypatch.setattr(trainer_module, "Prefetcher", partial(Prefetcher, ahead=2))
    original, seen = trainer_module.learning_rate, []

    def schedule(update: int, recipe: Training) -> float:
        if update == 6 and not seen:
            seen.extend(threads())
            signal.raise_signal(signal.SIGINT)
        return original(update, recipe)

    monkeypatch.setattr(trainer_module, "learning_rate", schedule)
    with pytest.raises(Interrupted):
        train_run(spec, toy_task, tmp_path / "run", device="cpu")
    assert seen and not threads()
    train_run(spec, toy_task, tmp_path / "run", device="cpu")
    assert not threads()
    plain, run = RunPaths(tmp_path / "plain"), RunPaths(tmp_path / "run")
    assert run.model.read_bytes() == plain.model.read_bytes()
    assert run.curves.read_bytes() == plain.curves.read_bytes()


def test_ctrl_c_twice_ends_the_thread_as_well(
    make_spec: Any, toy_task: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trainer_module, "Prefetcher", partial(Prefetcher, ahead=2))

    def impatient(update: int, recipe: Training) -> float:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        return 0.0

    monkeypatch.setattr(trainer_module, "learning_rate", impatient)
    with pytest.raises(KeyboardInterrupt):
        train_run(make_spec("transformer"), toy_task, tmp_path, device="cpu")
    assert not threads()
