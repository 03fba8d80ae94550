"""Target tokens per second of training on one GPU, and the share of the machine's own matrix rate that this is.

    python benchmarks/gpu.py [--json found.json] [--models transformer waldm-edc damha-dmoe]
    python benchmarks/gpu.py --device cpu --quick        the same with tiny sizes, to see that it runs

Each model is trained by the trainer itself, on generated text whose lengths are spread as those of legal text: width
512 / 1024 with 6 + 6 layers and 32,000 words, batches of 25,000 tokens, bf16. The first third of the updates is not
timed; the rest is cut into intervals, whose median counts. The matrix rate is the best that bf16 products of some sizes
reach on this machine, now. Operations are those that torch's counter finds in the matrix products of one update;
launches are estimated by the operators of one update that compute on the device; synchronisations are what made the CPU
wait for the device in it (mdnmt.train.device_watch).
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import generated_task
import torch
import workload
from torch.utils.flop_counter import FlopCounterMode

from mdnmt import fsio, methods, provenance
from mdnmt.config.run import RunSpec
from mdnmt.config.training import Compile, Training, merge_recipes
from mdnmt.fsio import read_json
from mdnmt.operations.plan.existing_results import vocab_sizes
from mdnmt.operations.plan.run_plan import RunPlanner, spec_of
from mdnmt.paths import RunPaths
from mdnmt.studies.resolve import resolve
from mdnmt.studies.result_paths import result_paths
from mdnmt.train import trainer as trainer_module
from mdnmt.train.device import choose_device
from mdnmt.train.device_watch import DeviceWatch
from mdnmt.train.metrics_log import read_metrics
from mdnmt.train.run import train_run

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


class Observed:
    """Counts what the sixth and seventh update of a run ask of the device; the others run as they are."""

    def __init__(self, device: torch.device) -> None:
        self.device, self.calls = device, 0
        self.flops, self.watch = FlopCounterMode(display=False), DeviceWatch(device.type)

    def update(self, original: Callable[[Any], None]) -> Callable[[Any], None]:
        """Return the trainer's update with counting."""

        def observed(trainer: Any) -> None:
            self.calls += 1
            if self.calls == 6:
                with self.flops:
                    original(trainer)
                self.words = trainer._meters.unread[-1].chosen.num_target_tokens
            elif self.calls == 7:
                with self.watch:
                    original(trainer)
            else:
                original(trainer)

        return observed


def measure(
    model: str, *, device: str, updates: int, rate: float, work: Path, size: str = "papers", compile: Compile = "off"
) -> dict[str, Any]:
    """Return the figures of a model of `workload.MODELS`, trained in `work`; `size` is a key of SIZES."""
    shape = SIZES[size]
    pairs = {"train": 500, "valid": 20, "test": 20} if size == "tiny" else {"train": 200_000, "valid": 200, "test": 20}
    task = generated_task.write_task(work / f"task-{size}", pairs=pairs, vocab_size=shape.vocab, mean_length=33)
    builder, options = workload.MODELS[model]
    architecture = methods.validate(builder, {**workload.COMMON, **shape.architecture, **options}, where="benchmark")
    spec = RunSpec(
        task_fingerprint=read_json(task / "task.json")["fingerprint"],
        builder=builder,
        architecture=architecture.model_dump(),
        training=Training(precision="bf16", compile=compile, max_tokens=shape.tokens, **_short(updates)),
        domains=generated_task.DOMAINS,
        seed=1,
    )
    return train(spec, task, work / f"run-{model}-{size}-{compile}", device=device, rate=rate)


def measure_printed(
    task_name: str, method: str, *, device: str, updates: int, rate: float, work: Path, toy: bool = False
) -> dict[str, Any]:
    """Return the figures of a row of the study `paper`, at its printed size and with its recipe, on generated text.

    Beside them, what `mdnmt plan paper` expects: parameters, memory and number of updates. The hours of the whole
    training are that number times the time of an update; validations and checkpoints are not in them. `toy` makes the
    model and the text tiny.
    """
    study = resolve(ROOT / "config", "paper", ROOT / "resources" / "corpora")
    run = next(one for one in study.runs_of(task_name, method) if one.seed == 1)
    places = result_paths(study, ROOT / "results")
    vocabs = {name: vocab_sizes(one, places)[0] for name, one in study.tasks.items()}
    planned = RunPlanner(study, places, ROOT / "logs" / "benchmarks", vocabs, [], "cuda").plan(run)
    printed = spec_of(run)
    if printed is None or planned.updates is None:
        raise SystemExit(f"mdnmt: found no recipe for {method} in {task_name}")
    sizes = {"train": 500, "valid": 20, "test": 20} if toy else {"train": 100_000, "valid": 200, "test": 20}
    domains = generated_task.DOMAINS[: len(printed.domains)]
    vocab = SIZES["tiny"].vocab if toy else vocabs[task_name].source
    folder = work / f"task-{vocab}-{len(domains)}"
    task = generated_task.write_task(folder, pairs=sizes, vocab_size=vocab, mean_length=33, domains=domains)
    short = Training.model_validate(merge_recipes([printed.training.model_dump(), _short(updates)]))
    changed = {
        "task_fingerprint": read_json(task / "task.json")["fingerprint"],
        "domains": domains,
        "training": short,
        "architecture": {**printed.architecture, **(SIZES["tiny"].architecture if toy else {})},
    }
    spec, run_folder = printed.model_copy(update=changed), work / f"run-{task_name}-{method}"
    found = train(spec, task, run_folder, device=device, rate=rate)
    return {
        **found,
        "task": task_name,
        "tokens_per_batch": printed.training.max_tokens,
        "planned_parameters": planned.parameters,
        "planned_mib": (planned.memory_bytes or 0) / 2**20,
        "planned_updates": planned.updates,
        "hours": planned.updates * found["seconds_per_update"] / 3600,
    }


def _short(updates: int) -> dict[str, Any]:
    """Return the options of a training that is only timed."""
    return {
        "max_updates": updates,
        "log_every": max(1, updates // 12),
        "validate_every": updates,
        "validation_bleu_sentences": 0,
        "training_sample_sentences": 0,
        "average_checkpoints": 0,
    }


def train(spec: RunSpec, task: Path, folder: Path, *, device: str, rate: float) -> dict[str, Any]:
    """Train a model and return its figures; those that torch.compile keeps from being counted are None."""
    run = RunPaths(folder)
    shutil.rmtree(run.folder, ignore_errors=True)
    chosen = choose_device(device)
    if chosen.type == "cuda":
        torch.cuda.reset_peak_memory_stats(chosen)
    observed, original = Observed(chosen), trainer_module.Trainer._update
    counts = spec.training.compile == "off"
    if counts:
        trainer_module.Trainer._update = observed.update(original)  # type: ignore[method-assign, assignment]
    try:
        train_run(spec, task, run.folder, device=device)
    finally:
        trainer_module.Trainer._update = original  # type: ignore[method-assign]
    first = spec.training.max_updates // 3 if spec.training.max_updates else 0
    lines = [one for one in read_metrics(run.metrics) if one.get("split") == "train"]
    timed = [one for one in lines if one["update"] > first]
    before = max((one for one in lines if one["update"] <= first), key=lambda one: one["update"])
    times = [one["seconds"] - last["seconds"] for last, one in zip([before, *timed], timed, strict=False)]
    gaps = [one["update"] - last["update"] for last, one in zip([before, *timed], timed, strict=False)]
    # Medians, because torch.compile may compile once more in one of these intervals.
    speed = statistics.median(one["tokens_per_second"] for one in timed)
    operations = observed.flops.get_total_flops() / observed.words if counts else None
    return {
        "parameters": read_json(run.record)["num_parameters"],
        "tokens_per_second": speed,
        "seconds_per_update": statistics.median(time / gap for time, gap in zip(times, gaps, strict=True)),
        "operations_per_word": operations,
        "share_of_rate": speed * operations / rate if operations is not None else None,
        "launches_per_update": observed.watch.operators if counts else None,
        "synchronisations_per_update": observed.watch.count("synchronisation") if counts else None,
        "scalar_copies_per_update": observed.watch.count("scalar copy") if counts else None,
        "peak_mib": torch.cuda.max_memory_allocated(chosen) / 2**20 if chosen.type == "cuda" else 0.0,
    }


def main() -> None:
    """Measure, print a table, and write the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", choices=sorted(workload.MODELS), default=list(workload.MODELS))
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--updates", type=int, default=120, help="of each model, at least 24")
    parser.add_argument("--quick", action="store_true", help="tiny sizes")
    parser.add_argument("--work", type=Path, help="folder for text and runs, to be kept; default: a temporary one")
    parser.add_argument("--json", type=Path, help="write all figures to this file")
    options = parser.parse_args()
    device = choose_device(options.device)
    rate = matrix_rate(device, [256] if options.quick else [4096, 8192, 16384])
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else "CPU"
    print(f"{name}, torch {torch.__version__}: bf16 products at {rate / 1e12:.2f} TFLOP/s\n")
    heads = ("model", "tokens/s", "share of the rate", "launches", "synchronisations", "scalars copied", "peak MiB")
    print(f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}")
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as temporary:
        work = options.work or Path(temporary)
        updates, size = max(24, options.updates), "tiny" if options.quick else "papers"
        for model in options.models:
            row = measure(model, device=options.device, size=size, updates=updates, rate=rate, work=work)
            found[model] = row
            print(
                f"| {model} | {row['tokens_per_second']:,.0f} | {100 * row['share_of_rate']:.1f} % | "
                f"{row['launches_per_update']:,} | {row['synchronisations_per_update']} | "
                f"{row['scalar_copies_per_update']} | {row['peak_mib']:,.0f} |",
                flush=True,
            )
    if options.json:
        made = provenance.collect()
        fsio.write_json(options.json, {"device": name, "matrix_rate": rate, "rows": found, "provenance": made})


if __name__ == "__main__":
    main()
