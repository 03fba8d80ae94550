"""Target tokens per second of training on one GPU, and the share of the machine's own matrix rate that this is.

    python benchmarks/gpu.py [--json found.json] [--models transformer waldm-edc damha-dmoe]
    python benchmarks/gpu.py --device cpu --quick        the same with tiny sizes, to see that it runs

Each model is trained by the trainer itself, on generated text whose lengths are spread as those of legal text: width
512 / 1024 with 6 + 6 layers and 32,000 words, batches of 25,000 tokens, bf16. The first third of the updates is not
timed. The matrix rate is the best that bf16 products of some sizes reach on this machine, now. Operations are those
that torch's counter finds in the matrix products of one update; launches are estimated by the operators of one update
that compute on the device; synchronisations are what made the CPU wait for the device in it (mdnmt.train.device_watch).
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import generated_task
import torch
import workload
from torch.utils.flop_counter import FlopCounterMode

from mdnmt import fsio, methods, provenance
from mdnmt.config.run import RunSpec
from mdnmt.config.training import Training
from mdnmt.fsio import read_json
from mdnmt.paths import RunPaths
from mdnmt.train import trainer as trainer_module
from mdnmt.train.device import choose_device
from mdnmt.train.device_watch import DeviceWatch
from mdnmt.train.metrics_log import read_metrics
from mdnmt.train.run import train_run


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


def measure(model: str, *, device: str, quick: bool, updates: int, rate: float, work: Path) -> dict[str, float]:
    """Return the figures of a model, trained in `work`."""
    sizes = {"train": 500, "valid": 20, "test": 20} if quick else {"train": 200_000, "valid": 200, "test": 20}
    task = generated_task.write_task(work / "task", pairs=sizes, vocab_size=200 if quick else 32_000, mean_length=33)
    builder, options = workload.MODELS[model]
    size = workload.SIZES["tiny" if quick else "papers"]
    architecture = methods.validate(builder, {**workload.COMMON, **size, **options}, where="benchmark")
    recipe = Training(
        max_updates=updates,
        max_tokens=300 if quick else 25_000,
        precision="bf16",
        log_every=max(1, updates // 12),
        validate_every=updates,
        validation_bleu_sentences=0,
        training_sample_sentences=0,
        average_checkpoints=0,
    )
    fingerprint = read_json(task / "task.json")["fingerprint"]
    spec = RunSpec(
        task_fingerprint=fingerprint,
        builder=builder,
        architecture=architecture.model_dump(),
        training=recipe,
        domains=generated_task.DOMAINS,
        seed=1,
    )
    run = RunPaths(work / f"run-{model}")
    shutil.rmtree(run.folder, ignore_errors=True)
    chosen = choose_device(device)
    if chosen.type == "cuda":
        torch.cuda.reset_peak_memory_stats(chosen)
    observed, original = Observed(chosen), trainer_module.Trainer._update
    trainer_module.Trainer._update = observed.update(original)  # type: ignore[method-assign, assignment]
    try:
        train_run(spec, task, run.folder, device=device)
    finally:
        trainer_module.Trainer._update = original  # type: ignore[method-assign]
    lines = [one for one in read_metrics(run.metrics) if one.get("split") == "train"]
    timed = [one for one in lines if one["update"] > updates // 3]
    before = max((one for one in lines if one["update"] <= updates // 3), key=lambda one: one["update"])
    times = [one["seconds"] - last["seconds"] for last, one in zip([before, *timed], timed, strict=False)]
    words = sum(one["tokens_per_second"] * time for one, time in zip(timed, times, strict=True))
    speed = words / sum(times)
    operations = observed.flops.get_total_flops() / observed.words
    return {
        "parameters": read_json(run.record)["num_parameters"],
        "tokens_per_second": speed,
        "operations_per_word": operations,
        "share_of_rate": speed * operations / rate,
        "launches_per_update": observed.watch.operators,
        "synchronisations_per_update": observed.watch.count("synchronisation"),
        "scalar_copies_per_update": observed.watch.count("scalar copy"),
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
        updates = max(24, options.updates)
        for model in options.models:
            row = measure(model, device=options.device, quick=options.quick, updates=updates, rate=rate, work=work)
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
