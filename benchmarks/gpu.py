"""Train a model for a short time with the trainer itself, and return what it cost: for the stages of gpu_slot.py.

The first third of the updates is not timed; the rest is cut into intervals, whose median counts. Operations are those
that torch's counter finds in the matrix products of one update; launches are the operators of one update that compute
on the device; synchronisations made the CPU wait for the device in it (device_watch.py). They are counted in
eager updates only.
"""

from __future__ import annotations

import gc
import shutil
import statistics
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import generated_task
import torch
import workload
from device_watch import DeviceWatch
from torch.utils.flop_counter import FlopCounterMode

from mdnmt import methods
from mdnmt.checkpoints.store import CheckpointStore
from mdnmt.config.run import RunSpec
from mdnmt.config.training import Training, merge_recipes
from mdnmt.fsio import read_json
from mdnmt.models.kernels import using
from mdnmt.operations.plan.existing_results import vocab_sizes
from mdnmt.operations.plan.run_plan import RunPlanner
from mdnmt.paths import RunPaths
from mdnmt.studies.resolve import resolve
from mdnmt.studies.result_paths import ResultPaths
from mdnmt.tasks.task_data import TaskData
from mdnmt.train.device import choose_device, make_deterministic
from mdnmt.train.metrics_log import MetricsLog, read_metrics
from mdnmt.train.profiling import profiled
from mdnmt.train.run import build_method
from mdnmt.train.signals import StopRequest
from mdnmt.train.trainer import RuntimeOptions, Trainer

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Size:
    """Model and batch of a benchmark: tokens are target tokens of a batch, vocab the entries of each vocabulary."""

    architecture: dict[str, Any]
    tokens: int
    vocab: int


SIZES = {
    "papers": Size(workload.SIZES["papers"], 25_000, 32_000),
    "demo": Size({"model_dim": 128, "ffn_dim": 256, "encoder_layers": 2, "decoder_layers": 2}, 500, 8000),
    "tiny": Size(workload.SIZES["tiny"], 300, 200),
}


def seconds(work: Callable[[], object], device: torch.device) -> float:
    """Return how long some work takes on a device."""
    started = time.perf_counter()
    work()
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter() - started


def matrix_rate(device: torch.device, sizes: list[int], repeats: int = 20) -> float:
    """Return the best rate of bf16 products, in operations a second."""
    best = 0.0
    for size in sizes:
        left, right = (torch.randn(size, size, device=device, dtype=torch.bfloat16) for _ in range(2))

        def work(left: torch.Tensor = left, right: torch.Tensor = right) -> None:
            for _ in range(repeats):
                left @ right

        seconds(work, device)
        best = max(best, 2 * size**3 * repeats / min(seconds(work, device) for _ in range(3)))
    return best


TINY = {"max_tokens": SIZES["tiny"].tokens, "precision": "fp32"}  # a recipe for a CPU


class Observed:
    """Counts what the sixth and seventh update of a run ask of the device; the others run as they are."""

    def __init__(self, device: torch.device) -> None:
        self.device, self.calls = device, 0
        self.flops, self.watch = FlopCounterMode(display=False), DeviceWatch(device.type)

    def update(self, trainer: Trainer) -> Callable[[], None]:
        """Return the trainer's update with counting."""
        original = trainer._update

        def observed() -> None:
            self.calls += 1
            with self.flops if self.calls == 6 else self.watch if self.calls == 7 else nullcontext():
                original()
            if self.calls == 6:
                self.words = trainer._meters.unread[-1].chosen.num_target_tokens

        return observed


def measure(
    model: str,
    *,
    work: Path,
    size: str = "papers",
    updates: int = 40,
    training: Mapping[str, Any] | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Return the figures of a model, trained in `work`.

    Args:
        model: of `workload.MODELS`.
        work: folder for text and runs.
        size: a key of SIZES.
        updates: how many.
        training: further options of the recipe.
        options: for `train`.
    """
    shape = SIZES[size]
    task = write_text(work, shape.vocab, 500 if size == "tiny" else 100_000)
    builder, own = workload.MODELS[model]
    recipe = {"precision": "bf16", "max_tokens": shape.tokens, **short(updates), **(training or {})}
    spec = make_spec(task, builder, {**workload.COMMON, **shape.architecture, **own}, recipe)
    return train(spec, task, options.pop("folder", work / "run"), **options)


def make_spec(task: Path, builder: str, architecture: dict[str, Any], training: Mapping[str, Any]) -> RunSpec:
    """Return a run on a task of generated text."""
    manifest = read_json(task / "task.json")
    return RunSpec(
        task_fingerprint=manifest["fingerprint"],
        builder=builder,
        architecture=methods.validate(builder, architecture, where="benchmark").model_dump(),
        training=Training.model_validate(training),
        domains=tuple(manifest["domains"]),
        seed=1,
    )


def write_text(work: Path, vocab: int, pairs: int, *, domains: int = 4, spread: float = generated_task.SPREAD) -> Path:
    """Return the folder of a task of generated text, written once."""
    return generated_task.write_task(
        work / f"task-{vocab}-{pairs}-{domains}-{spread}",
        pairs={"train": pairs, "valid": 100, "test": 20},
        vocab_size=vocab,
        mean_length=31,
        domains=generated_task.DOMAINS[:domains],
        spread=spread,
    )


@cache
def _planned(task_name: str, method: str) -> tuple[RunSpec, dict[str, Any], int]:
    """Return a row of the study `paper`: its spec, what `mdnmt plan paper` expects of it, and its source vocabulary."""
    study = resolve(ROOT / "config", "paper", ROOT / "resources" / "corpora")
    run = next(one for one in study.runs_of(task_name, method) if one.seed == 1)
    places = ResultPaths(study, ROOT / "results")
    vocabs = {name: vocab_sizes(one, places)[0] for name, one in study.tasks.items()}
    planned = RunPlanner(study, places, ROOT / "logs" / "benchmarks", vocabs, [], "cuda").plan(run)
    printed = run.planned
    if planned.updates is None:
        raise SystemExit(f"mdnmt: found no recipe for {method} in {task_name}")
    expected = {
        "tokens_per_batch": printed.training.max_tokens,
        "planned_parameters": planned.parameters,
        "planned_mib": (planned.memory_bytes or 0) / 2**20,
        "planned_updates": planned.updates,
    }
    return printed, expected, vocabs[task_name].source


def measure_printed(
    task_name: str,
    method: str,
    *,
    work: Path,
    tiny: bool = False,
    updates: int = 40,
    training: Mapping[str, Any] | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Return the figures of a row of the study `paper`, at its printed size and with its recipe, on generated text.

    Beside them, what `mdnmt plan paper` expects: parameters, memory and number of updates. The hours of the whole
    training are that number times the time of an update; validations and checkpoints are not in them. `tiny` makes the
    model and the text tiny; the other arguments are those of `measure`.
    """
    printed, expected, vocab = _planned(task_name, method)
    domains = len(generated_task.DOMAINS[: len(printed.domains)])
    vocab, pairs = (SIZES["tiny"].vocab, 500) if tiny else (vocab, 60_000)
    task = write_text(work, vocab, pairs, domains=domains)
    recipe = [printed.training.model_dump(), short(updates), TINY if tiny else {}, training or {}]
    changed = {
        "task_fingerprint": read_json(task / "task.json")["fingerprint"],
        "domains": generated_task.DOMAINS[:domains],
        "training": Training.model_validate(merge_recipes(recipe)),
        "architecture": {**printed.architecture, **(SIZES["tiny"].architecture if tiny else {})},
    }
    found = train(printed.model_copy(update=changed), task, work / "run", **options)
    return {**found, **expected, "hours": expected["planned_updates"] * found["seconds_per_update"] / 3600}


def short(updates: int) -> dict[str, Any]:
    """Return the options of a training that ends after a few updates."""
    return {
        "max_updates": updates,
        "log_every": max(1, updates // 12),
        "validate_every": updates,
        "validation_bleu_sentences": 0,
        "training_sample_sentences": 0,
        "average_checkpoints": 0,
    }


class _Enough(Exception):
    """All updates of a timing are done."""


def train(
    spec: RunSpec,
    task: Path,
    folder: Path,
    *,
    device: str,
    rate: float = 0.0,
    seconds: float = float("inf"),
    **options: Any,
) -> dict[str, Any]:
    """Train a model, without validations and checkpoints, and return its figures; what was not measured is missing.

    Args:
        spec: the run; it ends after `max_updates`.
        task: its data.
        folder: of the run; an earlier one is removed.
        device: as in `mdnmt train`.
        rate: of matrix products, operations a second; 0: not known.
        seconds: end after this time at the latest.
        options: RuntimeOptions; without `graphs` all updates are eager.
    """
    shutil.rmtree(folder, ignore_errors=True)
    gc.collect()  # an earlier trainer, with its graphs
    make_deterministic(spec.seed, None)
    updates, data, chosen = spec.training.max_updates, TaskData.load(task, verify=False), choose_device(device)
    if chosen.type == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats(chosen)
    endless = {"max_updates": 10**9, "validate_every": 10**9}
    spec = spec.model_copy(update={"training": spec.training.model_copy(update=endless)})
    runtime = RuntimeOptions(**{"graphs": "off", "save_every_minutes": 1e9, **options})
    paths, end = RunPaths(folder), time.monotonic() + seconds
    with MetricsLog(paths.metrics) as metrics, profiled(folder, runtime.profile_updates, chosen) as traced:
        method, store = build_method(spec, data, chosen), CheckpointStore(paths.checkpoints, spec.fingerprint)
        trainer = Trainer(spec, data, method, device=chosen, store=store, metrics=metrics, lease=None, runtime=runtime)

        def after_update() -> None:
            traced()
            if trainer.progress.update > updates or time.monotonic() > end:  # one more: then the last line is written
                raise _Enough

        trainer.after_update = after_update
        observed = Observed(chosen)
        is_counted = spec.training.compile == "off" and runtime.graphs == "off" and not runtime.profile_updates
        if is_counted:
            trainer._update = observed.update(trainer)  # type: ignore[method-assign]
        with using(trainer.conditions.kernels), StopRequest() as stop, suppress(_Enough):
            trainer.run(stop)
    lines = [one for one in read_metrics(paths.metrics) if one.get("split") == "train"]
    first = max(trainer.progress.update // 3, spec.training.log_every)
    timed = [one for one in lines if one["update"] > first]
    if not timed:
        raise RuntimeError(f"only {trainer.progress.update} updates were done in time")
    before = max((one for one in lines if one["update"] <= first), key=lambda one: one["update"])
    pairs = list(zip([before, *timed], timed, strict=False))
    # Medians, because torch.compile may compile once more in one of these intervals.
    found: dict[str, Any] = {
        "updates": trainer.progress.update,
        "parameters": sum(parameter.numel() for parameter in method.model.parameters()),
        "tokens_per_second": statistics.median(one["tokens_per_second"] for one in timed),
        "seconds_per_update": statistics.median(
            (one["seconds"] - last["seconds"]) / (one["update"] - last["update"]) for last, one in pairs
        ),
    }
    key = f"{spec.builder} {spec.architecture}"
    if is_counted and trainer.progress.update > 7:
        _operations[key] = observed.flops.get_total_flops() / observed.words
        found["launches_per_update"] = observed.watch.operators
        found["synchronisations_per_update"] = observed.watch.count("synchronisation")
        found["scalar_copies_per_update"] = observed.watch.count("scalar copy")
    if key in _operations and rate:
        found["share_of_rate"] = found["tokens_per_second"] * _operations[key] / rate
    if chosen.type == "cuda":
        found["peak_mib"] = torch.cuda.max_memory_allocated(chosen) / 2**20
    if trainer.graphs is not None:
        found |= {"replayed_updates": trainer.graphs.num_replayed, "graphs_failed": trainer.graphs.failure}
    return found


_operations: dict[str, float] = {}  # a token, of models that were trained eagerly in this process
