"""An update makes the host wait for the device nowhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import torch
from device_watch import DeviceWatch, Finding
from torch._subclasses.fake_tensor import FakeTensorMode

from mdnmt.checkpoints.store import CheckpointStore
from mdnmt.models.batch import Batch
from mdnmt.paths import RunPaths
from mdnmt.tasks.task_data import TaskData
from mdnmt.train.batch_sampler import UpdateBatches
from mdnmt.train.data_parallel import Workers
from mdnmt.train.forward_backward import domain_sums
from mdnmt.train.meters import Meters, Step
from mdnmt.train.metrics_log import MetricsLog
from mdnmt.train.run import build_method
from mdnmt.train.signals import StopRequest
from mdnmt.train.trainer import RuntimeOptions, Trainer


def test_sums_are_kept_without_a_copy_to_the_device() -> None:
    watch = DeviceWatch("cuda")
    with FakeTensorMode():
        device = torch.device("cuda", 0)
        losses = {0: {"generation": torch.empty((), device=device)}}
        meters = Meters(device, Workers(), ["generation"], ["law", "news"])
        ids = torch.empty(2, 4, dtype=torch.int64, device=device)
        index_N, domain_B = (torch.empty(size, dtype=torch.int64, device=device) for size in (7, 2))
        batch = Batch(ids, ids > 0, ids, ids > 0, index_N, index_N, domain_B)
        token_loss_N = torch.empty(7, device=device)
        with watch:
            for update in (1, 2):
                sums = domain_sums(token_loss_N, batch, 2)
                meters.add(Step(update, UpdateBatches(0, [0], [np.arange(2)], 7), losses, [], sums))
    assert meters.sums == {"tokens": 14.0} and meters.rows.device == device
    assert [finding for finding in watch.findings if finding.kind != "float64"] == []


@pytest.mark.parametrize("layout", ["padded", "packed"])
@pytest.mark.parametrize("builder", ["transformer", "waldm", "dmoe"])
def test_no_update_reads_a_value(
    monkeypatch: pytest.MonkeyPatch, make_spec: Any, toy_task: Path, tmp_path: Path, builder: str, layout: str
) -> None:
    spec = make_spec(builder, layout=layout, max_updates=4, log_every=4, validate_every=4, clip_norm=1.0)
    data, paths, cpu = TaskData.load(toy_task), RunPaths(tmp_path), torch.device("cpu")
    found: list[list[Finding]] = []
    with MetricsLog(paths.metrics) as metrics:
        trainer = Trainer(
            spec,
            data,
            build_method(spec, data, cpu),
            device=cpu,
            store=CheckpointStore(paths.checkpoints, spec.fingerprint),
            metrics=metrics,
            lease=None,
            runtime=RuntimeOptions(),
        )
        update = trainer._update
        prefetcher = cast(Any, trainer)._prefetcher

        def watched() -> None:
            # On a CPU run batches are made on the same device: prepared beforehand, they are not watched.
            prepared = prefetcher.next()
            with monkeypatch.context() as patch, DeviceWatch("cpu") as watch:
                patch.setattr(prefetcher, "next", lambda: prepared)
                update()
            found.append([one for one in watch.findings if one.kind != "float64"])

        monkeypatch.setattr(trainer, "_update", watched)
        with StopRequest() as stop:
            trainer.run(stop)
    # The first update also checks the processor, once in a process.
    assert found[1:] == [[], [], []]
