"""An update makes the host wait for the device nowhere; each kind of wait is seen."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from mdnmt.checkpoints.store import CheckpointStore
from mdnmt.paths import RunPaths
from mdnmt.tasks.data import TaskData
from mdnmt.train import trainer as trainer_module
from mdnmt.train.metrics import MetricsLog
from mdnmt.train.operator_count import OperatorCount
from mdnmt.train.run import build_method
from mdnmt.train.signals import StopRequest
from mdnmt.train.trainer import Habits, Trainer

VALUES = torch.arange(6.0)
WAITS: dict[str, Callable[[], Any]] = {
    "aten._local_scalar_dense": lambda: VALUES.sum().item(),
    "tolist": lambda: VALUES.tolist(),
    "numpy": lambda: VALUES.numpy(),
    "aten.lift_fresh": lambda: VALUES + torch.tensor(3.0),
    "aten.nonzero": lambda: VALUES.nonzero(),
    "aten.index": lambda: VALUES[VALUES > 2],
    "aten.equal": lambda: torch.equal(VALUES, VALUES),
}


@pytest.mark.parametrize("name", list(WAITS))
def test_each_kind_of_wait_is_counted(name: str) -> None:
    with OperatorCount() as count:
        WAITS[name]()
    assert count.waits[name] == 1
    with OperatorCount() as count, count.paused():
        WAITS[name]()
    assert not count.waits and not count.operators


def test_bool_is_a_wait_and_products_are_not() -> None:
    with OperatorCount() as count:
        assert VALUES.isfinite().all()
        product = VALUES.view(2, 3) @ VALUES.view(3, 2)
        assert product[torch.arange(2)].shape == (2, 2)
    assert count.waits == {"aten._local_scalar_dense": 1}
    assert count.operators["aten.mm"] == 1 and count.operators["aten.view"] == 2
    assert count.launches == sum(count.operators.values()) - 2


def test_copies_between_devices_wait_unless_they_are_asked_not_to() -> None:
    with FakeTensorMode(), OperatorCount("meta") as count:
        there = torch.ones(3, device="meta")
        torch.ones(3).sum().add(1)  # on the host: not counted
        there.add(torch.ones(3, device="cpu").to("meta", non_blocking=True))
        assert not count.waits
        there.add(torch.ones(3, device="cpu").to("meta"))
    assert count.waits == {"aten._to_copy": 1}
    assert count.operators["aten.add"] == 2 and count.operators["aten.sum"] == 0


@pytest.mark.parametrize("builder", ["transformer", "waldm", "dmoe"])
@pytest.mark.parametrize("on_nan", ["stop", "rollback"])
def test_an_update_waits_nowhere(
    monkeypatch: pytest.MonkeyPatch, make_spec: Any, toy_task: Path, tmp_path: Path, builder: str, on_nan: Any
) -> None:
    spec = make_spec(builder, max_updates=6, log_every=6, validate_every=6, clip_norm=1.0 if on_nan == "stop" else 0.0)
    data, paths = TaskData.load(toy_task), RunPaths(tmp_path)
    cpu = torch.device("cpu")
    with MetricsLog(paths.metrics) as metrics:
        trainer = Trainer(
            spec,
            data,
            build_method(spec, data, cpu),
            device=cpu,
            store=CheckpointStore(paths.checkpoints, spec.fingerprint),
            metrics=metrics,
            lease=None,
            habits=Habits(on_nan=on_nan),
        )
        counts: list[OperatorCount] = []
        update, collate = trainer._update, trainer_module.collate

        def counted() -> None:
            with OperatorCount() as count:
                counts.append(count)
                update()

        def prepared(*args: Any, **options: Any) -> Any:
            with counts[-1].paused():  # work of the host, on tensors that are not on the device yet
                return collate(*args, **options)

        monkeypatch.setattr(trainer, "_update", counted)
        monkeypatch.setattr(trainer_module, "collate", prepared)
        with StopRequest() as stop:
            trainer.run(stop)
    assert len(counts) == 6
    # The first one also checks the processor, and makes the optimiser's state.
    assert [dict(count.waits) for count in counts[1:]] == [{}] * 5
    assert all(count.launches > 100 for count in counts)
