"""What domain knowledge costs: a training step, and beam search, of each method beside a plain Transformer.

    python benchmarks/methods.py [--size small] [--precision fp32] [--domains 4] [--decode] [--device cuda]

A step is forward pass, backward pass, clipping and optimiser, as the trainer does them, over the same batches of random
words of realistic lengths for all. A method whose layers hold k times the weights meets a plain Transformer of as many
weights without embeddings (within 2 %), whose widths all grow by one factor (as the papers' enlarged baselines do), or
with --grow ffn that of the feed-forward blocks alone: the leanest way to spend them, since embeddings, attention and
norms stay as they are. The others meet the plain Transformer of their own width. Model and plain one take turns; the
ratio is the median of the rounds' ratios.
"""

from __future__ import annotations

import argparse
import csv
import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
import workload

from mdnmt import fsio, methods, provenance
from mdnmt.config.decoding import Decoding
from mdnmt.config.method import load_method
from mdnmt.config.training import Training
from mdnmt.decode.batching import translate_ids
from mdnmt.methods.method import Method, TokenCounts, VocabSizes
from mdnmt.models.batch import Batch
from mdnmt.tasks.task_data import Split
from mdnmt.train.batches import collate, epoch_batches, usable
from mdnmt.train.device import autocast_dtype, choose_device, make_deterministic
from mdnmt.train.forward_backward import forward_backward
from mdnmt.train.optimiser import Optimiser

CONFIG = Path(__file__).resolve().parent.parent / "config"
TOLERANCE = 0.02  # of the parameters without embeddings

Size = dict[str, Any]
Opponent = Literal["parameters", "width"]


@dataclass(frozen=True)
class Row:
    """A method of config/methods, what it is measured against, and how much more time it may take.

    Attributes:
        method: the name of its file.
        opponent: a plain Transformer of the same number of weights, or of the same width.
        bound: of a step's time, as a multiple of the opponent's; None: for information.
        weights_of: the method whose weights are counted, where this one does not register its own.
        song: its row in Table 4 of Song et al. 2026, and the row of its opponent there.
    """

    method: str
    opponent: Opponent
    bound: float | None
    weights_of: str | None = None
    song: tuple[str, str] | None = None


ROWS = (
    Row("waldm-edc", "parameters", 1.10, song=("WALDM", "Transformer-big")),
    Row("waldm-encoder", "parameters", 1.10),
    Row("damha-dmoe-domain", "parameters", 1.10, song=("Domain-only", "Transformer-big")),
    Row("damha-dmoe-mix", "parameters", 1.10, song=("Domain+Sentence", "Transformer-big")),
    Row("dsa", "width", 1.25, song=("DASA", "Baseline")),
    Row("dsa-guided", "width", 1.25),
    Row("mtl", "width", 1.25),
    Row("advl", "width", 1.25),
    Row("padvl", "width", 1.25),
    Row("wdc", "width", 1.25),
    Row("wl", "width", 1.25),
    Row("wdc-wl", "width", None),
    Row("ldspslv", "width", None, song=("LDSPSLV", "Baseline")),
    Row("naive-edc", "parameters", None, weights_of="waldm-edc"),
)
BEAM_ROW, BEAM_BOUND = "waldm-edc", 1.15


@dataclass
class Contestant:
    """A model that trains or translates."""

    method: Method
    device: torch.device
    recipe: Training
    optimiser: Optimiser

    def train(self, batches: Sequence[Batch]) -> None:
        dtype = autocast_dtype(self.recipe, self.device)
        for batch in batches:
            forward_backward(self.method, [batch], self.recipe, self.device, dtype)
            self.optimiser.step(1e-4)

    def translate(self, sources: list[Any], domains: torch.Tensor) -> None:
        config = Decoding(max_length_ratio=1.0, max_length_extra=0)
        dtype = autocast_dtype(self.recipe, self.device)
        self.method.model.eval()
        with torch.autocast(self.device.type, dtype, enabled=dtype is not None):
            translate_ids(self.method.model, sources, config, device=self.device, domains=domains)
        self.method.model.train()


def build(name: str, size: Size, vocab_size: int, domains: int, device: torch.device | None = None) -> Method:
    """Return a method of config/methods at the given size, with random weights, ready to train."""
    file = load_method(CONFIG, name)
    options = {**workload.COMMON, **size, **file.architecture}
    method = methods.build(
        file.builder,
        methods.validate(file.builder, options, where=name),
        VocabSizes(vocab_size, vocab_size, joint=True),
        domains,
    )
    method.model.to(device).train()
    if method.prepare is not None:
        counts = torch.randint(0, 1000, (domains, vocab_size), generator=torch.Generator().manual_seed(1))
        method.prepare(TokenCounts(counts.to(device), counts.to(device)))
    return method


def weights_in_layers(method: Method) -> int:
    """Return the number of parameters without the embeddings and the output layer."""
    model = method.model
    parts = (model.source_embedding, model.target_embedding)
    apart = {id(p) for part in parts for p in part.parameters()} | {id(model.output_weight)}
    return sum(p.numel() for p in model.parameters() if id(p) not in apart)


def plain_weights(size: Size) -> int:
    """Return the same of the plain Transformer of a size."""
    d, f, encoder, decoder = (size[key] for key in ("model_dim", "ffn_dim", "encoder_layers", "decoder_layers"))
    attention, ffn, norm = 4 * d * d + 4 * d, 2 * d * f + f + d, 2 * d
    return int(encoder * (attention + ffn + 2 * norm) + decoder * (2 * attention + ffn + 3 * norm))


def enlarged(size: Size, weights: int, grow: Literal["both", "ffn"]) -> Size:
    """Return the size of the plain Transformer of that many weights whose proportions are nearest to those of `size`.

    Widths are multiples of 16, those of heads of 8, which no processor here prefers to be larger.
    """
    heads, layers = workload.NUM_HEADS, size["encoder_layers"] + size["decoder_layers"]
    found: list[tuple[float, Size]] = []
    for model_dim in range(8 * heads, 16 * size["model_dim"], 8 * heads):
        if grow == "ffn" and model_dim != size["model_dim"]:
            continue
        slim = {**size, "model_dim": model_dim, "ffn_dim": 0}
        ffn_dim = round((weights - plain_weights(slim)) / (layers * (2 * model_dim + 1)) / 16) * 16
        if ffn_dim > 0:
            stretch = abs(math.log(ffn_dim / model_dim * size["model_dim"] / size["ffn_dim"]))
            found.append((stretch, {**slim, "ffn_dim": ffn_dim}))
    return min(found, key=lambda one: one[0])[1]


def take_turns(works: Sequence[Callable[[], None]], rounds: int, clock: Callable[[], float]) -> list[list[float]]:
    """Return the seconds of each of the works in each round; one round before them is not counted."""
    seconds: list[list[float]] = [[] for _ in works]
    for number in range(rounds + 1):
        for place, work in enumerate(works):
            start = clock()
            work()
            if number:
                seconds[place].append(clock() - start)
    return seconds


def clock_of(device: torch.device, name: Literal["wall", "cpu"]) -> Callable[[], float]:
    """Return what tells the seconds, after all that was asked of a GPU is done."""
    if device.type != "cuda":
        return time.process_time if name == "cpu" else time.perf_counter

    def synchronised() -> float:
        torch.cuda.synchronize(device)
        return time.perf_counter()

    return synchronised


def typical_batches(split: Split, max_tokens: int, count: int, domains: int, device: torch.device) -> list[Batch]:
    """Return `count` batches, evenly spread from the one of the shortest to the one of the longest sentences."""
    rows = epoch_batches(split, usable(split, [*range(domains)], 250), max_tokens=max_tokens, seed=1, epoch=0)
    rows.sort(key=lambda one: float(split.target.lengths[one].mean()))
    places = [int((place + 0.5) / count * len(rows)) for place in range(count)]
    return [collate(split, rows[place], bos=1).to(device) for place in places]


class Field:
    """All that the contestants have in common."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options, self.device = options, choose_device(options.device)
        self.size: Size = workload.SIZES[options.size]
        self.recipe = Training(max_tokens=options.max_tokens, precision=options.precision)
        self.clock = clock_of(self.device, options.clock)
        self.split = workload.random_split(20_000, options.vocab)
        self.split.domains[:] %= options.domains
        self.batches = typical_batches(self.split, options.max_tokens, options.updates, options.domains, self.device)

    def contestant(self, name: str, size: Size) -> Contestant:
        method = build(name, size, self.options.vocab, self.options.domains, self.device)
        return Contestant(method, self.device, self.recipe, Optimiser(method.model, self.recipe))

    def opponent(self, row: Row) -> Size:
        if row.opponent == "width":
            return self.size
        named = build(row.weights_of or row.method, self.size, self.options.vocab, self.options.domains)
        weights = weights_in_layers(named)
        size = enlarged(self.size, weights, self.options.grow)
        if abs(plain_weights(size) / weights - 1) > TOLERANCE:
            raise SystemExit(f"{row.method}: {weights} weights, but the nearest plain Transformer is {size}")
        return size

    def measure(self, row: Row, *, decode: bool = False) -> dict[str, Any]:
        """Return the figures of a method and of the plain Transformer beside it."""
        options, plain_size = self.options, self.opponent(row)
        pair = [self.contestant(row.method, self.size), self.contestant("mixed", plain_size)]
        if decode:
            chosen = np.linspace(0, len(self.split.domains) - 1, options.sentences).astype(int)
            sources = [self.split.source[index] for index in chosen]
            domains = torch.from_numpy(self.split.domains[chosen].astype(np.int64))
            works = [lambda one=one: one.translate(sources, domains) for one in pair]
        else:
            works = [lambda one=one: one.train(self.batches) for one in pair]
        seconds = take_turns(works, options.rounds, self.clock)
        ratios = sorted(mine / theirs for mine, theirs in zip(*seconds, strict=True))
        ratio = statistics.median(ratios)
        bound = BEAM_BOUND if decode else row.bound
        return {
            "what": "beam 5" if decode else "step",
            "method": row.method,
            "opponent": row.opponent,
            "weights": weights_in_layers(pair[0].method),
            "plain_weights": weights_in_layers(pair[1].method),
            "plain_size": plain_size,
            "seconds": seconds,
            "ratio": ratio,
            "lowest": ratios[0],
            "highest": ratios[-1],
            "bound": bound,
            "within": None if bound is None else ratio <= bound,
            "in_song": in_song(row),
        }


def in_song(row: Row) -> float | None:
    """Return what Song et al. 2026 found: an epoch's time over that of the same kind of opponent (Table 4)."""
    if row.song is None:
        return None
    with (CONFIG / "published" / "song2026.tsv").open(encoding="utf-8", newline="") as file:
        cells = csv.DictReader((line for line in file if not line.startswith("#")), delimiter="\t")
        times = {cell["row"]: cell["value"] for cell in cells if cell["metric"] == "seconds_per_epoch"}
    return float(times[row.song[0]]) / float(times[row.song[1]])


HEAD = (
    "| | method | weights, M | plain Transformer | weights, M | ms | plain, ms | ratio | of rounds | at most | Song |"
)


def line(found: dict[str, Any], per_round: int) -> str:
    """Return the row of the table."""
    mine, theirs = (1000 * statistics.median(part) / per_round for part in found["seconds"])
    size, bound, song = found["plain_size"], found["bound"], found["in_song"]
    cells = [
        found["what"],
        found["method"],
        f"{found['weights'] / 1e6:.2f}",
        f"d{size['model_dim']} ff{size['ffn_dim']}",
        f"{found['plain_weights'] / 1e6:.2f}",
        f"{mine:.0f}",
        f"{theirs:.0f}",
        f"**{found['ratio']:.3f}**",
        f"{found['lowest']:.3f} to {found['highest']:.3f}",
        "" if bound is None else f"{bound:.2f}" + ("" if found["within"] else " (above)"),
        "" if song is None else f"{song:.2f}",
    ]
    return "| " + " | ".join(cells) + " |"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", nargs="+", choices=[row.method for row in ROWS], help="some of them; default: all")
    parser.add_argument("--size", choices=sorted(workload.SIZES), default="small")
    parser.add_argument("--domains", type=int, default=4, help="k")
    parser.add_argument("--precision", choices=("auto", "fp32", "bf16"), default="fp32")
    parser.add_argument("--grow", choices=("both", "ffn"), default="both", help="which widths of the plain one grow")
    parser.add_argument("--vocab", type=int, default=8000, help="joint; few words leave the layers more of the time")
    parser.add_argument("--max-tokens", type=int, default=4096, help="target tokens of a batch")
    parser.add_argument("--updates", type=int, default=3, help="a round, each of another length")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--decode", action="store_true", help="measure beam search as well")
    parser.add_argument("--sentences", type=int, default=64, help="translated a round")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall", help="cpu: time of this process (1 thread)")
    parser.add_argument("--json", type=Path, help="write all figures to this file")
    return parser.parse_args()


def main() -> None:
    options = arguments()
    make_deterministic(1, options.threads)
    field = Field(options)
    rows = [row for row in ROWS if options.methods is None or row.method in options.methods]
    print(
        f"{options.size}, k = {options.domains}, {options.precision}, {field.device}, {options.threads} threads, "
        f"{options.vocab} words, batches of {options.max_tokens} tokens; ms an update, or of all {options.sentences} "
        f"sentences; medians of {options.rounds} rounds\n\n{HEAD}\n|---|---|" + "---:|---|" + "---:|" * 7,
        flush=True,
    )
    found = []
    for row in rows:
        found.append(field.measure(row))
        print(line(found[-1], options.updates), flush=True)
    if options.decode:
        for row in rows:
            if row.method == BEAM_ROW:
                found.append(field.measure(row, decode=True))
                print(line(found[-1], 1), flush=True)
    if options.json:
        setting = {name: str(value) for name, value in vars(options).items()}
        fsio.write_json(options.json, {"options": setting, "rows": found, "provenance": provenance.collect()})
    if any(one["within"] is False for one in found):
        print("\nabove: more time than it may take")


if __name__ == "__main__":
    main()
