"""One run trained by several workers is the run of one, whatever becomes of a worker."""

from __future__ import annotations

import hashlib
import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest
import torch
from chosen_cases import chosen_cases
from forked import losses, train

import mdnmt.train.trainer as trainer_module
from mdnmt.checkpoints.store import CheckpointStore
from mdnmt.paths import RunPaths
from mdnmt.train.data_parallel import Workers
from mdnmt.train.lease import RunLease
from mdnmt.train.metrics_log import read_metrics
from mdnmt.train.optimiser import Optimiser

pytestmark = pytest.mark.slow  # each starts several workers

UPDATES = 12
NO_DROPOUT = {"dropout": 0.0}
# Batches that are cut, batches that are dealt out whole, both; sums, means, and what is neither.
FORMS: dict[str, dict[str, Any]] = {
    "transformer": {"builder": "transformer", "architecture": NO_DROPOUT, "max_tokens": 100, "clip_norm": 0.5},
    "waldm": {"builder": "waldm", "architecture": {**NO_DROPOUT, "aux_norm": "code"}, "accumulate_batches": 2},
    "sampled": {
        "builder": "transformer",
        "architecture": NO_DROPOUT,
        "batch_sentences": 7,
        "domain_sampling": {"weights": {"economy": 3, "law": 1}},
    },
    "packed": {
        "builder": "waldm",
        "architecture": NO_DROPOUT,
        "max_tokens": 150,
        "layout": "packed",
        "validation_bleu_sentences": 3,
    },
    "naive": {"builder": "naive_waldm", "architecture": NO_DROPOUT, "max_tokens": 900},  # its loss looks at padding
    "dmoe": {
        "builder": "dmoe",
        "architecture": {**NO_DROPOUT, "gate_input": "mix", "balance_losses": "both"},
        "accumulate_batches": 5,
        "max_tokens": 60,
    },
}
DONE = ["done", "done"]


def outcome(folder: Path) -> dict[str, bytes]:
    paths = RunPaths(folder)
    last = sorted(paths.checkpoints.glob("update-*"))[-1]
    files = [paths.model, paths.curves, *(path for path in last.iterdir() if path.name != "manifest.json")]
    return {f"{path.parent.name if path.parent != folder else ''}/{path.name}": path.read_bytes() for path in files}


def training_losses(folder: Path) -> list[float]:
    """Return objective and losses of domains of every training line."""
    lines = [record for record in read_metrics(RunPaths(folder).metrics) if "objective" in record]
    return [value for line in lines for value in (line["objective"], *line["domain_losses"].values())]


def stop_at(update: int, rank: int, number: int) -> Any:
    """Return what makes one worker send itself a signal in the middle of an update."""

    def prepare(workers: Workers) -> None:
        if workers.rank != rank:
            return
        original = trainer_module.learning_rate

        def schedule(at: int, recipe: Any) -> float:
            if at == update:
                os.kill(os.getpid(), number)
            return original(at, recipe)

        trainer_module.learning_rate = schedule

    return prepare


@pytest.mark.parametrize("form", chosen_cases(FORMS, "waldm", "packed", "dmoe"))
def test_one_two_and_four_workers_have_one_loss_curve(
    make_spec: Any, toy_task: Path, tmp_path: Path, form: str
) -> None:
    spec = make_spec(**FORMS[form], max_updates=UPDATES, log_every=1)
    for count in (1, 2, 4):
        assert train(spec, toy_task, tmp_path / str(count), count) == ["done"] * count
    alone = losses(tmp_path / "1")
    # Each of the three validations has a line for each domain and for all, of validation text and of a training sample.
    assert len(alone) == UPDATES + 3 * 2 * 3 and alone[-1] < alone[0]
    for count in (2, 4):
        assert losses(tmp_path / str(count)) == pytest.approx(alone, rel=2e-5)
        assert training_losses(tmp_path / str(count)) == pytest.approx(training_losses(tmp_path / "1"), rel=2e-5)
        record = json.loads(RunPaths(tmp_path / str(count)).record.read_text())
        assert record["workers"] == count and record["fingerprint"] == spec.fingerprint
    starts = [record for record in read_metrics(RunPaths(tmp_path / "4").metrics) if record.get("event") == "start"]
    assert [start["workers"] for start in starts] == [4]


def test_a_single_worker_of_a_group_is_bit_equal_to_none(make_spec: Any, toy_task: Path, tmp_path: Path) -> None:
    from mdnmt.train.run import train_run

    spec = make_spec(max_updates=4)
    assert train(spec, toy_task, tmp_path / "a", 1) == ["done"]
    train_run(spec, toy_task, tmp_path / "b", device="cpu", threads=1)
    assert outcome(tmp_path / "a") == outcome(tmp_path / "b")


def test_all_workers_have_the_same_weights_and_each_its_own_dropout(
    make_spec: Any, toy_task: Path, tmp_path: Path
) -> None:
    spec = make_spec(max_updates=4)

    def watch(workers: Workers) -> None:
        class Watched(Optimiser):
            def step(self, learning_rate: float) -> None:
                super().step(learning_rate)
                flat = torch.cat([parameter.detach().flatten() for parameter in self.named.values()])
                line = f"{hashlib.sha256(flat.numpy().tobytes()).hexdigest()} {torch.rand(1).item()}\n"
                with (tmp_path / f"seen-{workers.rank}").open("a") as file:
                    file.write(line)

        trainer_module.Optimiser = Watched  # type: ignore[misc]

    assert train(spec, toy_task, tmp_path / "run", 2, each=watch) == DONE
    first, second = ([line.split() for line in (tmp_path / f"seen-{r}").read_text().splitlines()] for r in (0, 1))
    assert len(first) == 4
    assert [line[0] for line in first] == [line[0] for line in second]
    assert len({line[1] for line in first + second}) == 8


@pytest.mark.parametrize("rank", [0, 1])
def test_a_signal_to_any_worker_stops_all_and_they_go_on_as_if_nothing_had_been(
    make_spec: Any, toy_task: Path, tmp_path: Path, rank: int
) -> None:
    spec = make_spec(max_updates=UPDATES)  # with dropout
    assert train(spec, toy_task, tmp_path / "whole", 2) == DONE
    stop = stop_at(6, rank, signal.SIGTERM)
    ends = train(spec, toy_task, tmp_path / "run", 2, each=stop)
    assert all(end.startswith("Interrupted: ") and "saved at update 6 of 12" in end for end in ends)
    assert "SIGTERM" in ends[rank] and "another worker was stopped" in ends[1 - rank]
    assert not RunPaths(tmp_path / "run").lease.exists()
    assert train(spec, toy_task, tmp_path / "run", 2) == DONE
    assert outcome(tmp_path / "run") == outcome(tmp_path / "whole")


@pytest.mark.parametrize("counts", [(1, 4), (4, 1)])
def test_another_number_of_workers_may_go_on_with_a_run(
    make_spec: Any, toy_task: Path, tmp_path: Path, counts: tuple[int, int]
) -> None:
    spec = make_spec(max_updates=UPDATES, architecture=NO_DROPOUT, log_every=1)
    assert train(spec, toy_task, tmp_path / "whole", 1) == ["done"]
    for count, each in zip(counts, (stop_at(6, 0, signal.SIGTERM), None), strict=True):
        train(spec, toy_task, tmp_path / "run", count, each=each)
    assert losses(tmp_path / "run") == pytest.approx(losses(tmp_path / "whole"), rel=2e-5)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
@pytest.mark.parametrize("rank", chosen_cases([0, 1], 1))
def test_a_dead_or_hung_worker_ends_the_others_and_the_last_checkpoint_stands(
    make_spec: Any, toy_task: Path, tmp_path: Path, rank: int, number: int
) -> None:
    spec = make_spec(max_updates=UPDATES)
    assert train(spec, toy_task, tmp_path / "whole", 2) == DONE

    def each(workers: Workers) -> None:
        stop_at(6, rank, signal.SIGKILL if number == signal.SIGKILL else signal.SIGUSR2)(workers)
        # Hung, not dead: its connections stay open, and it says nothing until the others have given it up.
        signal.signal(signal.SIGUSR2, lambda *_: (signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2]), hang()))

    def hang() -> None:
        other = tmp_path / "run" / "ends" / f"end-{1 - rank}"
        while not other.exists():
            signal.sigtimedwait([signal.SIGUSR2], 0.1)
        os._exit(0)

    ends = train(spec, toy_task, tmp_path / "run", 2, each=each, worker_timeout_minutes=0.1)
    assert ends[rank] == "killed" and ends[1 - rank].startswith("LostWorker: another worker of this job is gone")
    assert "\n" not in ends[1 - rank]
    assert CheckpointStore(RunPaths(tmp_path / "run").checkpoints, spec.fingerprint).updates() == [4]
    assert train(spec, toy_task, tmp_path / "run", 2) == DONE
    assert outcome(tmp_path / "run") == outcome(tmp_path / "whole")


def test_a_second_job_on_the_same_run_is_refused_whole(make_spec: Any, toy_task: Path, tmp_path: Path) -> None:
    paths = RunPaths(tmp_path)
    with RunLease(paths.lease):
        first, other = train(make_spec(), toy_task, tmp_path, 2)
    # The other worker waits for the first, and finds it gone.
    assert first.startswith("LeaseError: ") and other.startswith("LostWorker: another worker of this job is gone")
    assert not paths.metrics.exists() and not paths.checkpoints.exists()


def test_batches_that_cannot_be_cut_are_refused_in_one_line(make_spec: Any, toy_task: Path, tmp_path: Path) -> None:
    spec = make_spec("dmoe", architecture={"gate_input": "mix", "balance_losses": "lb1"}, accumulate_batches=2)
    ends = train(spec, toy_task, tmp_path, 3)
    line = "found 3 workers for updates of 2 batches, but the loss 'balance' has no attribute reduction"
    assert all(end.startswith("ConfigError") and line in end for end in ends)


def test_a_broken_batch_is_left_out_by_all(make_spec: Any, toy_task: Path, tmp_path: Path) -> None:
    from mdnmt.models.losses import LabelSmoothedCrossEntropy

    spec = make_spec("transformer", architecture=NO_DROPOUT, max_updates=UPDATES, max_tokens=100)
    original = LabelSmoothedCrossEntropy.__call__

    def spoil(workers: Workers) -> None:
        calls = []

        def call(self: Any, output: Any, batch: Any) -> Any:
            if torch.is_grad_enabled():
                calls.append(1)
            broken = len(calls) == 6 and workers.rank == workers.count - 1
            return original(self, output, batch) * (float("nan") if broken else 1.0)

        LabelSmoothedCrossEntropy.__call__ = call  # type: ignore[method-assign]

    for count in (1, 2):
        folder = tmp_path / str(count)
        assert train(spec, toy_task, folder, count, each=spoil, on_nan="rollback") == ["done"] * count
        record = json.loads(RunPaths(folder).record.read_text())
        assert record["skipped_batches"] == [{"update": 6, "epoch": 0, "positions": [5]}]
        dump = json.loads((folder / "broken-update-00000006.json").read_text())
        assert [batch["losses"] for batch in dump["batches"]] == [{"generation": "nan"}]
    assert losses(tmp_path / "2") == pytest.approx(losses(tmp_path / "1"), rel=2e-5)
