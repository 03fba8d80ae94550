"""Updates that are replayed as graphs: on a CPU a recording of operators stands for a CUDA graph."""

from __future__ import annotations

import gc
import math
import signal
import sys
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest
import torch
from chosen_cases import chosen_cases
from recorded_update import Recording
from torch import Tensor

import mdnmt.train.trainer as trainer_module
from mdnmt.errors import ConfigError, Interrupted, TrainingError
from mdnmt.models.losses import LabelSmoothedCrossEntropy
from mdnmt.paths import RunPaths
from mdnmt.train import graphs as module
from mdnmt.train.metrics_log import read_metrics
from mdnmt.train.optimiser import Optimiser
from mdnmt.train.run import train_run
from mdnmt.train.trainer import RuntimeOptions

sys.path.insert(0, str(Path(__file__).parents[3] / "benchmarks"))
import generated_task

pytestmark = pytest.mark.slow  # each trains a run twice or more

T = TypeVar("T")
FORM = {
    "kernels": "plain",
    "max_updates": 16,
    "batch_sentences": 3,
    "validate_every": 8,
    "clip_norm": 0.5,
    "validation_bleu_sentences": 3,  # greedy search between recorded updates
}
FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    "transformer": ("transformer", {"share_embeddings": "all"}),
    "waldm": ("waldm", {}),
    "dsa": ("domain_aware_attention", {"guidance_weight": 1.0}),
    "dmoe": ("dmoe", {"gate_input": "mix", "balance_losses": "both"}),
    "multitask": ("multitask", {}),
    "latent-depth": ("latent_depth", {}),
    "adapters": ("adapters", {}),
}


class CpuRecorder:
    """Records operators; to record computes once, as the warm-up of a CUDA graph does."""

    def record(self, work: Callable[[], T]) -> tuple[Callable[[], None], T]:
        with Recording() as recording:
            found = work()
        return recording.replay, found


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a CPU have graphs."""
    monkeypatch.setattr(module, "recorder_for", lambda device: CpuRecorder())


def train(spec: Any, task: Path, folder: Path, **runtime: Any) -> RunPaths:
    train_run(spec, task, folder, device="cpu", threads=1, runtime=RuntimeOptions(**runtime))
    return RunPaths(folder)


def replayed(paths: RunPaths) -> int:
    """Return how many updates of all attempts were replayed."""
    return sum(one.get("replayed_updates", 0) for one in read_metrics(paths.metrics))


def results(paths: RunPaths) -> tuple[bytes, bytes]:
    return paths.model.read_bytes(), paths.curves.read_bytes()


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a task of short sentences: most batches have one of a few shapes."""
    pairs = {"train": 150, "valid": 6, "test": 4}
    folder = tmp_path_factory.mktemp("short")
    return generated_task.write_task(folder, pairs=pairs, vocab_size=40, mean_length=3, domains=("economy", "law"))


def make(make_spec: Any, name: str, **training: Any) -> Any:
    builder, architecture = FAMILIES[name]
    spec = make_spec(builder, architecture={**architecture, "attention_dropout": 0.1}, **{**FORM, **training})
    return spec.model_copy(update={"task_fingerprint": "generated1"})


@pytest.mark.usefixtures("recorder")
@pytest.mark.parametrize(("precision", "accumulate"), [("fp32", 1), ("bf16", 2)])
@pytest.mark.parametrize("name", chosen_cases(FAMILIES, "waldm", "dmoe", "latent-depth"))
def test_replayed_a_run_has_the_bytes_of_an_eager_one(
    name: str, precision: str, accumulate: int, make_spec: Any, task: Path, tmp_path: Path
) -> None:
    spec = make(make_spec, name, precision=precision, accumulate_batches=accumulate, max_updates=10 * (1 + accumulate))
    graphs = train(spec, task, tmp_path / "graphs", graphs="on")
    eager = train(spec, task, tmp_path / "eager", graphs="off")
    assert results(graphs) == results(eager)
    assert replayed(graphs) > 3 and replayed(eager) == 0


@pytest.mark.usefixtures("recorder")
@pytest.mark.parametrize("name", chosen_cases(FAMILIES, "waldm", "dmoe", "latent-depth"))
def test_most_updates_of_packed_batches_are_replayed(name: str, make_spec: Any, task: Path, tmp_path: Path) -> None:
    spec = make(make_spec, name, layout="packed", precision="bf16")
    graphs = train(spec, task, tmp_path / "graphs", graphs="on")
    assert results(graphs) == results(train(spec, task, tmp_path / "eager", graphs="off"))
    assert replayed(graphs) >= FORM["max_updates"] - 4  # type: ignore[operator]


@pytest.mark.usefixtures("recorder")
@pytest.mark.parametrize("after", ["on", "off"])
def test_stopped_and_resumed_it_is_bit_equal(
    after: str, make_spec: Any, task: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = make(make_spec, "waldm")
    whole = train(spec, task, tmp_path / "whole", graphs="off")
    rate = trainer_module.learning_rate
    with monkeypatch.context() as patch:

        def stop(number: int, recipe: Any) -> float:
            if number == 13:
                signal.raise_signal(signal.SIGTERM)
            return rate(number, recipe)

        patch.setattr(trainer_module, "learning_rate", stop)
        with pytest.raises(Interrupted):
            train(spec, task, tmp_path / "run", graphs="on")
    stopped = replayed(RunPaths(tmp_path / "run"))
    torch.manual_seed(1)
    assert results(train(spec, task, tmp_path / "run", graphs=after)) == results(whole)
    assert stopped > 0


def frozen_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a loss depend on a number that Python reads: a graph repeats that of its recording."""
    original = LabelSmoothedCrossEntropy.__call__

    def call(self: Any, output: Any, batch: Any) -> Tensor:
        value: Tensor = original(self, output, batch)
        return value * (1.0 + int(batch.label_N[0]) / 100)

    monkeypatch.setattr(LabelSmoothedCrossEntropy, "__call__", call)


def frozen_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    original = Optimiser.move

    def move(self: Any) -> None:
        kept, self.rate = self.rate, torch.tensor(float(self.rate), dtype=self.rate.dtype)
        original(self)
        self.rate = kept

    monkeypatch.setattr(Optimiser, "move", move)


def cannot_be_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    def record(self: Any, work: Any) -> Any:
        work()
        raise RuntimeError("operation not permitted when stream is capturing\nmore of it")

    monkeypatch.setattr(CpuRecorder, "record", record)


FAILURES: dict[str, tuple[Callable[[pytest.MonkeyPatch], None], str]] = {
    "loss": (frozen_loss, "a replayed update has other bits than an eager one (generation)"),
    "rate": (frozen_rate, "a replayed update has other bits than an eager one ("),
    "record": (cannot_be_recorded, "operation not permitted when stream is capturing\n"),
}


@pytest.mark.usefixtures("recorder")
@pytest.mark.parametrize("name", list(FAILURES))
def test_graphs_that_fail_are_named_and_the_run_is_the_eager_one(
    name: str,
    make_spec: Any,
    task: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    spoil, why = FAILURES[name]
    spoil(monkeypatch)
    spec = make(make_spec, "dmoe", precision="bf16")
    eager = train(spec, task, tmp_path / "eager", graphs="off")
    capsys.readouterr()
    paths = train(spec, task, tmp_path / "auto", graphs="auto")
    said = capsys.readouterr().out
    assert said.count("mdnmt: trains without CUDA graphs: ") == 1 and f"graphs: {why}" in said
    assert results(paths) == results(eager) and replayed(paths) == 0
    with pytest.raises(ConfigError, match="found graphs: on, but they fail: "):
        train(spec, task, tmp_path / "on", graphs="on")


@pytest.mark.usefixtures("recorder")
def test_batches_of_other_shapes_are_eager(
    make_spec: Any, task: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = make(make_spec, "transformer")
    many = train(spec, task, tmp_path / "many", graphs="on")
    monkeypatch.setattr(module, "MAX_SHAPES", 1)
    one = train(spec, task, tmp_path / "one", graphs="on")
    monkeypatch.setattr(module, "MAX_SEEN", 0)
    none = train(spec, task, tmp_path / "none", graphs="on")
    assert replayed(many) > replayed(one) > replayed(none) == 0
    assert results(many) == results(one) == results(none)


@pytest.mark.usefixtures("recorder")
@pytest.mark.parametrize("on_nan", ["stop", "rollback"])
def test_a_broken_batch_of_a_replayed_update_is_found(
    on_nan: str, make_spec: Any, task: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original, add = LabelSmoothedCrossEntropy.__call__, module.UpdateGraphs._add_gradients
    broken, replays = torch.zeros((), dtype=torch.int64), []

    def call(self: Any, output: Any, batch: Any) -> Tensor:
        value: Tensor = original(self, output, batch)
        return value * torch.where((batch.label_N.sum() == broken) & torch.is_grad_enabled(), math.inf, 1.0)

    def note(self: Any, batches: Any, now: Any) -> Any:
        replays.append((now.update, int(batches[0].label_N.sum())))
        return add(self, batches, now)

    monkeypatch.setattr(LabelSmoothedCrossEntropy, "__call__", call)
    monkeypatch.setattr(module.UpdateGraphs, "_add_gradients", note)
    spec = make(make_spec, "transformer", log_every=50)
    train(spec, task, tmp_path / "whole", graphs="on")
    number, total = replays[-1]
    broken.fill_(total)
    folder = tmp_path / "run"
    if on_nan == "stop":
        with pytest.raises(TrainingError, match=f"it began in update {number}, batch {number - 1} of epoch 0"):
            train(spec, task, folder, graphs="on")
    else:
        paths = train(spec, task, folder, graphs="on", on_nan=on_nan)
        eager = train(spec, task, tmp_path / "eager", graphs="off", on_nan=on_nan)
        assert results(paths) == results(eager) and replayed(paths) > 0
    assert [path.name for path in folder.glob("broken-update-*.json")] == [f"broken-update-{number:08d}.json"]


@pytest.mark.usefixtures("recorder")
def test_a_run_that_ended_frees_its_graphs(
    make_spec: Any, task: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[weakref.ref[Any]] = []
    original = module.graphs_for

    def make_graphs(*args: Any, **options: Any) -> Any:
        graphs = original(*args, **options)
        made.append(weakref.ref(graphs))
        return graphs

    monkeypatch.setattr(trainer_module, "graphs_for", make_graphs)
    gc.disable()
    try:
        train(make(make_spec, "transformer"), task, tmp_path, graphs="on")
        assert [one() for one in made] == [None]
    finally:
        gc.enable()


@pytest.mark.parametrize(
    ("change", "why"),
    [({}, "device cpu, where nothing is recorded"), ({"compile": "default"}, "training.compile: default")],
)
def test_where_there_are_none_on_is_refused_and_auto_is_eager(
    change: dict[str, Any], why: str, make_spec: Any, task: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if change:
        monkeypatch.setattr(module, "recorder_for", lambda device: CpuRecorder())
        monkeypatch.setattr(trainer_module, "compile_model", lambda method, compile: None)
    spec = make(make_spec, "transformer", max_updates=2, **change)
    with pytest.raises(ConfigError, match=f"found graphs: on with {why}; expected graphs: auto or off"):
        train(spec, task, tmp_path / "on", graphs="on")
    assert replayed(train(spec, task, tmp_path / "auto", graphs="auto")) == 0
