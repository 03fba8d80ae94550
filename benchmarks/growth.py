"""How training grows: time and memory of an update with the model's sizes, and an epoch with the number of pairs.

    python benchmarks/growth.py [--figure docs/images/growth.png] [--device cuda] [--json found.json]
    python benchmarks/growth.py --only epoch [--pairs 10000 100000 1000000]

Sizes: WALDM E/DC, one size changed at a time, each point in a process of its own; memory is what the process took
beyond what it had before the model was made (on a GPU: the allocator's peak). The exponents are slopes of log over log.
Beside the measured ones stand those of a count: multiplications of an update for the time; weights, gradients and both
moments of Adam, and what is kept of each word for the backward pass, for the memory.

Epochs: for each number of pairs, dealing out all batches of an epoch and padding them, without a model; then whole
epochs of a tiny model, as far as --trained pairs. The small corpora have as many epochs as it takes to have as many
pairs, and all take turns of a few updates. Memory is by how much anonymous memory grows in an epoch alone, before that:
the text itself is mapped from files, as in training.
"""

from __future__ import annotations

import argparse
import itertools
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import methods as costs
import numpy as np
import torch
import workload

from mdnmt import fsio, provenance
from mdnmt.config.training import Training
from mdnmt.exhibits.figure_style import COLOURS, DASHES, MARKERS, style
from mdnmt.tasks.task_data import Ragged, Split
from mdnmt.train.batch_sampler import BatchSampler
from mdnmt.train.batches import collate, usable
from mdnmt.train.device import choose_device, make_deterministic
from mdnmt.train.optimiser import Optimiser
from mdnmt.train.progress import Progress

Point = dict[str, int]
BASE: Point = {"width": 256, "layers": 2, "domains": 4, "tokens": 2048, "vocabulary": 8000}
SERIES = {
    "width": (128, 256, 512),
    "layers": (1, 2, 4),
    "domains": (2, 4, 8),
    "tokens": (1024, 2048, 4096),
    "vocabulary": (4000, 16000, 64000),
}
TITLES = {
    "width": "model width d, feed-forward 4 d",
    "layers": "layers of each side",
    "domains": "domains k",
    "tokens": "target tokens of a batch",
    "vocabulary": "words of the vocabulary",
}
EPOCH_LINEAR = 0.05
TURN = 20  # updates
MIB = 2**20


def counted(point: Point) -> tuple[float, float]:
    """Return multiplications of an update, and bytes that it needs, counted from the sizes alone (float32)."""
    d, layers, k, tokens, vocab = (point[key] for key in BASE)
    # Maps D -> D in an encoder and a decoder layer: 4 and 8 of attentions, 8 of the feed-forward block; k of each.
    weights = layers * (4 + 8 + 2 * 8) * d * d * k
    products = 3 * tokens * (weights + vocab * d)  # forward, and twice backward
    # Of each word: inputs weighed by domain, 3 and 5 times k d, outputs to be summed, k d each; d-wide states.
    kept = layers * ((3 + 1 + 5 + 1) * k * d + (2 * (4 + 4 * 2 + 2 * 2) + 6) * d)
    return float(products), float(16 * (weights + vocab * d) + 4 * tokens * kept)


def resident() -> float:
    """Return MiB of memory that is this process's alone."""
    for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines():
        if line.startswith("RssAnon"):
            return int(line.split()[1]) / 1024
    return 0.0


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure_point(point: Point, options: argparse.Namespace) -> dict[str, float]:
    """Return seconds of an update and MiB at its peak."""
    make_deterministic(1, options.threads)
    device = choose_device(options.device)
    split = workload.random_split(4000, point["vocabulary"])
    split.domains[:] %= point["domains"]
    [batch] = costs.typical_batches(split, point["tokens"], 1, point["domains"], device)
    size = {"model_dim": point["width"], "ffn_dim": 4 * point["width"]}
    size |= {"encoder_layers": point["layers"], "decoder_layers": point["layers"]}
    before = peak()
    method = costs.build("waldm-edc", size, point["vocabulary"], point["domains"], device)
    recipe = Training(max_tokens=point["tokens"], precision=options.precision)
    one = costs.Contestant(method, device, recipe, Optimiser(method.model, recipe))
    clock = costs.clock_of(device, options.clock)
    [seconds] = costs.take_turns([lambda: one.train([batch])], options.updates, clock)
    cuda = device.type == "cuda"
    memory = torch.cuda.max_memory_allocated(device) / MIB if cuda else peak() - before
    return {"seconds": statistics.median(seconds), "mib": memory}


def slope(places: Any, values: Any) -> float:
    """Return the exponent of the power law through the points."""
    return float(np.polyfit(np.log(places), np.log(values), 1)[0])


def measure_sizes(options: argparse.Namespace) -> dict[str, Any]:
    """Print and return time and memory along each size."""
    print(
        "| size | values | ms an update | exponent | counted | MiB | exponent | counted |\n" + "|---|" * 1 + "---|" * 7
    )
    found: dict[str, Any] = {}
    for name, values in SERIES.items():
        points = [{**BASE, name: value} for value in values]
        measured = []
        for point in points:
            command = [sys.executable, __file__, *sys.argv[1:], "--point", json.dumps(point)]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            measured.append(json.loads(done.stdout.strip().splitlines()[-1]))
        expected = [counted(point) for point in points]
        row: dict[str, Any] = {"values": values}
        for place, quantity in enumerate(("seconds", "mib")):
            row[quantity] = [one[quantity] for one in measured]
            row[quantity + "_exponent"] = slope(values, row[quantity])
            row[quantity + "_counted"] = slope(values, [one[place] for one in expected])
        found[name] = row
        print(
            f"| {TITLES[name]} | {listed(values, ',.0f')} | {listed([1000 * s for s in row['seconds']], '.0f')} "
            f"| {row['seconds_exponent']:.2f} | {row['seconds_counted']:.2f} | {listed(row['mib'], '.0f')} "
            f"| {row['mib_exponent']:.2f} | {row['mib_counted']:.2f} |",
            flush=True,
        )
    return found


def listed(values: Any, form: str) -> str:
    return "; ".join(format(value, form) for value in values)


def draw(path: Path, found: dict[str, Any]) -> None:
    """Draw time and memory relative to each size's smallest value, fitted exponents beside the counted ones."""
    from matplotlib.figure import Figure

    with style():
        figure = Figure(figsize=(5.0, 5.6), layout="constrained")
        panels: Any = figure.subplots(2, 1, sharex=True)
        for axes, quantity, label in zip(
            panels, ("seconds", "mib"), ("time of an update", "peak memory of training"), strict=True
        ):
            for place, (name, row) in enumerate(found.items()):
                steps, values = np.array(row["values"]) / row["values"][0], np.array(row[quantity])
                fitted, expected = row[quantity + "_exponent"], row[quantity + "_counted"]
                axes.plot(
                    steps,
                    values / values[0],
                    color=COLOURS[place],
                    linestyle=DASHES[place % len(DASHES)],
                    marker=MARKERS[place],
                    markersize=3.5,
                    label=f"{name}: {fitted:.2f} (counted {expected:.2f})",
                )
            axes.set_xscale("log", base=2)
            axes.set_yscale("log", base=2)
            for axis in (axes.xaxis, axes.yaxis):
                axis.set_major_formatter(lambda value, _: f"{value:g}x")
            axes.set_ylabel(label)
            axes.legend(title="exponents", fontsize=7, title_fontsize=7)
        panels[1].set_xlabel("size, relative to the smallest")
        figure.savefig(path, dpi=200)


def mapped(split: Split, folder: Path) -> Split:
    """Return the pairs with their words in files that are mapped into memory."""
    folder.mkdir()

    def side(name: str, text: Ragged) -> Ragged:
        np.save(folder / f"{name}.npy", text.tokens)
        return Ragged(np.load(folder / f"{name}.npy", mmap_mode="r"), text.offsets)

    return Split(side("source", split.source), side("target", split.target), split.domains)


def updates_of(split: Split, recipe: Training, train: Any, epochs: int) -> Iterator[float]:
    """Train for some epochs; yields the seconds of every few updates, dealing out and padding included."""
    rows = usable(split, [*range(workload.DOMAINS)], recipe.max_length)
    start, done = time.perf_counter(), 0
    sampler, progress = BatchSampler(split, rows, recipe, 1), Progress()
    while (chosen := sampler.next(progress)).epoch < epochs:
        train(collate(split, chosen.batches[0], bos=1))
        done += 1
        if done % TURN == 0:
            yield time.perf_counter() - start
            start = time.perf_counter()
    yield time.perf_counter() - start


def side_by_side(works: Sequence[Iterator[float]]) -> list[float]:
    """Return the seconds of each; they take turns of a few updates, so that a slower minute is slower for all."""
    totals = [0.0] * len(works)
    for turn in itertools.zip_longest(*works, fillvalue=0.0):
        totals = [total + seconds for total, seconds in zip(totals, turn, strict=True)]
    return totals


def most_memory(work: Iterator[float]) -> float:
    """Return by how many MiB of anonymous memory the process grows at most."""
    before = resident()
    return max(resident() for _ in work) - before


def measure_epochs(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Print and return the cost of an epoch with the number of pairs."""
    make_deterministic(1, options.threads)
    recipe = Training(max_tokens=options.max_tokens, precision=options.precision)
    method = costs.build("waldm-edc", workload.SIZES["tiny"], BASE["vocabulary"], workload.DOMAINS)
    model = costs.Contestant(method, torch.device("cpu"), recipe, Optimiser(method.model, recipe))
    found: list[dict[str, Any]] = []
    print(
        "| epoch of | pairs | epochs | seconds each | microseconds a pair | against the first | MiB |\n|---|"
        + "---:|" * 6
    )
    for what, train, sizes in (
        ("batches alone", lambda batch: None, options.pairs),
        ("tiny model", lambda batch: model.train([batch]), options.trained),
    ):
        with tempfile.TemporaryDirectory() as folder:
            splits = [
                mapped(workload.random_split(pairs, BASE["vocabulary"]), Path(folder, str(pairs))) for pairs in sizes
            ]
            memory = [most_memory(updates_of(split, recipe, train, 1)) for split in splits]
            epochs = [max(sizes) // pairs for pairs in sizes]  # as many pairs of each
            works = [updates_of(split, recipe, train, count) for split, count in zip(splits, epochs, strict=True)]
            seconds = [total / count for total, count in zip(side_by_side(works), epochs, strict=True)]
        for place, pairs in enumerate(sizes):
            each = 1e6 * seconds[place] / pairs
            ratio = each / (1e6 * seconds[0] / sizes[0])
            row = {"what": what, "pairs": pairs, "epochs": epochs[place], "seconds": seconds[place], "each": each}
            found.append({**row, "ratio": ratio, "mib": memory[place]})
            note = "" if abs(ratio - 1) <= EPOCH_LINEAR else " (above 5 %)"
            print(
                f"| {what} | {pairs:,} | {epochs[place]} | {seconds[place]:.2f} | {each:.1f} | {ratio:.3f}{note} "
                f"| {memory[place]:.0f} |",
                flush=True,
            )
    return found


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=("sizes", "epoch"), help="one of both; default: both")
    parser.add_argument("--precision", choices=("auto", "fp32", "bf16"), default="fp32")
    parser.add_argument("--device", default="cpu", help="of the updates; epochs are measured on the CPU")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall", help="cpu: time of this process (1 thread)")
    parser.add_argument("--updates", type=int, default=5, help="at each point; the median is taken")
    parser.add_argument("--max-tokens", type=int, default=4096, help="tokens of a batch of an epoch")
    parser.add_argument("--pairs", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--trained", type=int, nargs="*", default=[10_000, 100_000], help="pairs, with a tiny model")
    parser.add_argument("--figure", type=Path, help="PNG to write")
    parser.add_argument("--json", type=Path, help="write all figures to this file")
    parser.add_argument("--point", type=json.loads, help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> None:
    options = arguments()
    if options.point:
        print(json.dumps(measure_point(options.point, options)))
        return
    result: dict[str, Any] = {"options": {name: str(value) for name, value in vars(options).items()}}
    if options.only != "epoch":
        result["sizes"] = measure_sizes(options)
        if options.figure:
            draw(options.figure, result["sizes"])
    if options.only != "sizes":
        result["epochs"] = measure_epochs(options)
    if options.json:
        fsio.write_json(options.json, {**result, "provenance": provenance.collect()})


if __name__ == "__main__":
    main()
