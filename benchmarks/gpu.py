"""Target words a second in training on one GPU, and the share of the machine's own matrix rate that this is.

    python benchmarks/gpu.py [--json found.json] [--models transformer waldm-edc damha-dmoe] [--modes eager compile]
    python benchmarks/gpu.py --quick        the same on a CPU with tiny sizes, to see that it runs

Needs torch and this package, no data: random words whose lengths are spread as those of legal text. A model of width
512 / 1024 with 6 + 6 layers and 32,000 words, batches of 25,000 tokens, bf16. The matrix rate is the best that bf16
products of some sizes reach on this machine, now. The operations of an update are those that torch's own counter finds
in its matrix products.

Modes: eager; compile (`torch.compile` of the whole model, shapes left open); padded (encoder and decoder compiled for
few shapes, to which batches are padded); graphs (as padded, replayed as CUDA graphs). `resident` takes batches that
are on the device already, `loop` makes and moves each as the trainer does. A mode that fails is named with its error.
"""

from __future__ import annotations

import argparse
import gc
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
import workload
from torch.utils.flop_counter import FlopCounterMode

from mdnmt import fsio, provenance
from mdnmt.config.training import Training
from mdnmt.methods.method import Method
from mdnmt.models.batch import Batch
from mdnmt.tasks.data import Split
from mdnmt.train.batches import Indices, collate, epoch_batches, usable
from mdnmt.train.device import autocast_dtype, choose_device
from mdnmt.train.optimiser import Optimiser
from mdnmt.train.step import leave_gradients

MODES = ("eager", "compile", "padded", "graphs")
STEP = 32  # of the lengths in the modes of few shapes


def wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def seconds(work: Callable[[], object], device: torch.device) -> float:
    wait(device)
    started = time.perf_counter()
    work()
    wait(device)
    return time.perf_counter() - started


def matrix_rate(device: torch.device, sizes: list[int], repeats: int = 20) -> float:
    """Return the best rate of bf16 products, in operations a second."""
    best = 0.0
    for size in sizes:
        left, right = (torch.randn(size, size, device=device, dtype=torch.bfloat16) for _ in range(2))

        def work(left: torch.Tensor = left, right: torch.Tensor = right) -> None:
            for _ in range(repeats):
                left @ right

        work()
        best = max(best, 2 * size**3 * repeats / min(seconds(work, device) for _ in range(3)))
    return best


def padded_rows(split: Split, max_tokens: int, count: int) -> list[tuple[Indices, int]]:
    """Return batches of few shapes, as rows and the width that both sides are padded to."""
    longer = np.maximum(split.source.lengths, split.target.lengths)
    widths = -(-longer // STEP) * STEP
    found = []
    for width in np.unique(widths):
        rows, size = np.flatnonzero(widths == width), max(1, max_tokens // int(width))
        found += [(rows[start : start + size], int(width)) for start in range(0, len(rows) - size + 1, size)]
    order = np.random.Generator(np.random.PCG64(2)).permutation(len(found))
    return [found[place] for place in order[:count]]


def widened(batch: Batch, width: int) -> Batch:
    """Return the batch with both sides padded to `width`."""

    def pad(x_BT: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.pad(x_BT, (0, width - x_BT.size(1)))

    row_N, column_N = batch.label_index_N // batch.target_BT.size(1), batch.label_index_N % batch.target_BT.size(1)
    return Batch(
        source_BS=pad(batch.source_BS),
        source_mask_BS=pad(batch.source_mask_BS),
        target_BT=pad(batch.target_BT),
        target_mask_BT=pad(batch.target_mask_BT),
        label_N=batch.label_N,
        label_index_N=row_N * width + column_N,
        domain_B=batch.domain_B,
    )


def compiled(method: Method, mode: str) -> None:
    """Compile the model in place."""
    torch.compiler.reset()
    if mode == "compile":
        method.model.compile(dynamic=True)
    elif mode in ("padded", "graphs"):
        torch._dynamo.config.recompile_limit = 64
        for part in (method.model.encoder, method.model.decoder):
            part.compile(dynamic=False, mode="reduce-overhead" if mode == "graphs" else None)


def measure(model: str, mode: str, setting: dict[str, Any]) -> dict[str, float]:
    """Return the figures of a model in a mode."""
    device, split, recipe, updates = setting["device"], setting["split"], setting["recipe"], setting["updates"]
    torch.manual_seed(1)
    method = workload.make_method(model, setting["size"], setting["vocab_size"])
    method.model.to(device).train()
    optimiser, dtype = Optimiser(method.model, recipe), autocast_dtype(recipe, device)
    if mode in ("eager", "compile"):
        rows = [(one, 0) for one in epoch_batches(split, usable(split, [*range(workload.DOMAINS)], 250),
                                                  max_tokens=recipe.max_tokens, seed=1, epoch=0)[:updates]]  # fmt: skip
    else:
        rows = padded_rows(split, recipe.max_tokens, updates)

    def made(one: tuple[Indices, int]) -> Batch:
        batch = collate(split, one[0], bos=1)
        return widened(batch, one[1]) if one[1] else batch

    def update(batch: Batch) -> None:
        if mode == "graphs":
            torch.compiler.cudagraph_mark_step_begin()
        leave_gradients(method, [batch], recipe, device, dtype)
        optimiser.step(1e-5)

    resident = [made(one).to(device) for one in rows]
    with FlopCounterMode(display=False) as counter:
        update(resident[0])
    operations = counter.get_total_flops() / resident[0].num_target_tokens
    compiled(method, mode)
    started = time.perf_counter()
    for batch in resident:  # every shape once: what is compiled is compiled here
        update(batch)
    wait(device)
    warm_up = time.perf_counter() - started
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
    words = sum(batch.num_target_tokens for batch in resident)
    times = [seconds(lambda: [update(batch) for batch in resident], device) for _ in range(setting["repeats"])]
    loop = [seconds(lambda: [update(made(one)) for one in rows], device) for _ in range(setting["repeats"])]
    places = sum(batch.target_BT.numel() + batch.source_BS.numel() for batch in resident)
    real = sum(int(batch.target_mask_BT.sum()) + int(batch.source_mask_BS.sum()) for batch in resident)
    speed = words / sorted(times)[len(times) // 2]
    return {
        "parameters": sum(parameter.numel() for parameter in method.model.parameters()),
        "words_per_second": speed,
        "words_per_second_loop": words / sorted(loop)[len(loop) // 2],
        "operations_per_word": operations,
        "share_of_rate": speed * operations / setting["rate"],
        "padding": 1 - real / places,
        "peak_mib": torch.cuda.max_memory_allocated(device) / 2**20 if device.type == "cuda" else 0.0,
        "warm_up_seconds": warm_up,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", choices=sorted(workload.MODELS), default=list(workload.MODELS))
    parser.add_argument("--modes", nargs="+", choices=MODES, default=list(MODES))
    parser.add_argument("--max-tokens", type=int, default=25_000)
    parser.add_argument("--vocab-size", type=int, default=32_000)
    parser.add_argument("--updates", type=int, default=40, help="of one measurement")
    parser.add_argument("--repeats", type=int, default=3, help="the median is taken")
    parser.add_argument("--quick", action="store_true", help="tiny sizes on a CPU; modes eager and compile at most")
    parser.add_argument("--json", type=Path, help="write all figures to this file")
    options = parser.parse_args()
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
    device = choose_device("cpu" if options.quick else "cuda")
    setting: dict[str, Any] = {
        "device": device,
        "size": workload.SIZES["tiny" if options.quick else "papers"],
        "vocab_size": 200 if options.quick else options.vocab_size,
        "recipe": Training(max_tokens=300 if options.quick else options.max_tokens, precision="bf16"),
        "updates": 3 if options.quick else options.updates,
        "repeats": options.repeats,
        "rate": matrix_rate(device, [256] if options.quick else [4096, 8192, 16384]),
    }
    pairs = 500 if options.quick else 100_000
    setting["split"] = workload.random_split(pairs, setting["vocab_size"])
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else "CPU"
    print(f"{name}, torch {torch.__version__}: bf16 products at {setting['rate'] / 1e12:.2f} TFLOP/s\n")
    print("| model | mode | words/s, resident | words/s, loop | share of the rate | padding | peak MiB | warm-up s |")
    print("|---|---|---|---|---|---|---|---|")
    found: dict[str, Any] = {}
    for model in options.models:
        for mode in options.modes:
            try:
                row = measure(model, mode, setting)
            except Exception as error:  # another mode may do: what failed is part of the answer
                reason = (str(error).strip() or type(error).__name__).splitlines()[0]
                found[f"{model} {mode}"] = {"error": reason}
                print(f"| {model} | {mode} | failed: {reason[:120]} |", flush=True)
                continue
            finally:
                gc.collect()
                if device.type == "cuda":
                    torch.cuda.empty_cache()
            found[f"{model} {mode}"] = row
            print(
                f"| {model} | {mode} | {row['words_per_second']:,.0f} | {row['words_per_second_loop']:,.0f} | "
                f"{100 * row['share_of_rate']:.1f} % | {100 * row['padding']:.1f} % | {row['peak_mib']:,.0f} | "
                f"{row['warm_up_seconds']:.0f} |",
                flush=True,
            )
    if options.json:
        made = provenance.collect()
        figures = {"device": name, "matrix_rate": setting["rate"], "rows": found, "provenance": made}
        fsio.write_json(options.json, figures)


if __name__ == "__main__":
    main()
