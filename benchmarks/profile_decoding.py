"""Where the time of beam search goes, and what a method or a precision costs.

    python benchmarks/profile_decoding.py --material DIR --contestants FOLDER --precisions fp32 int8 --profile
    python benchmarks/profile_decoding.py --material DIR --contestants transformer waldm-edc enlarged

Models of random weights do not end their sentences: theirs end where the references end, give or take some words.
A model that `decoding.py train-model` wrote is taken as it is.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from workload import COMMON, SIZES

from mdnmt import fsio, methods, provenance
from mdnmt.checkpoints.weights import load_model
from mdnmt.config.decoding import PRECISIONS, Decoding
from mdnmt.decode.batching import translate_ids
from mdnmt.methods.method import VocabSizes
from mdnmt.models.transformer import DecodingState, Transformer
from mdnmt.tasks.segmentation.vocabulary import Vocab
from mdnmt.tasks.task_data import TaskData

DOMAINS = 3
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "transformer": ("transformer", {}),
    "enlarged": ("transformer", {"size": "enlarged"}),  # as many parameters as waldm-edc
    "waldm-encoder": ("waldm", {"mixed_sides": "encoder"}),
    "waldm-edc": ("waldm", {"mixed_sides": "both"}),
}
PARTS = {
    "products": ("mkldnn", "addmm", "::mm", "_int_mm", "linear"),
    "attention": ("attention", "bmm"),
    "probabilities": ("log_softmax",),
    "search": ("topk", "amax", "gather", "sort", "nonzero"),
    "re-packing": ("index_select", "pad", "constant"),
    "norms": ("layer_norm",),
}


def timed_model(options: argparse.Namespace, name: str, vocab_size: int) -> Transformer:
    """Return a trained model, if `name` is a folder, or one of random weights."""
    folder = Path(name)
    if (folder / "model.json").exists():
        described = fsio.read_json(folder / "model.json")
        builder, architecture = described["builder"], described["architecture"]
    else:
        builder, extra = METHODS[name]
        architecture = {**COMMON, **SIZES[options.size], **extra}
    config = methods.validate(builder, architecture, where=name)
    torch.manual_seed(1)
    model = methods.build(builder, config, VocabSizes(vocab_size, vocab_size, True), DOMAINS).model.eval()
    if (folder / "model.json").exists():
        model.load_state_dict(load_model(folder / "model.safetensors"))
        return model
    model.__class__ = Ending
    return model


class Ending(Transformer):
    """Random weights that end a sentence at 1.1 times the source's length, the last beams some words later."""

    def step(self, token_P: Tensor, state: DecodingState) -> Tensor:
        """Return the logits of a step."""
        logits_PV: Tensor = super().step(token_P, state)
        length_B = (state.memory.mask_B11S[:, 0, 0].sum(1) * 1.1).long()
        late_P = (state.position - length_B).repeat_interleave(token_P.size(0) // length_B.size(0))
        logits_PV[:, Vocab.eos] = torch.where(late_P < 0, -1e4, logits_PV.amax(1) - 2.0 + late_P)
        return logits_PV


def parts_of(work: Any) -> dict[str, float]:
    """Return the share of each part of the work, done by one thread; what no operation takes is Python."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        started = time.perf_counter()
        work()
        seconds = time.perf_counter() - started
    torch.set_num_threads(threads)
    found: defaultdict[str, float] = defaultdict(float)
    for event in profile.key_averages():
        part = next((part for part, names in PARTS.items() if any(name in event.key for name in names)), "rest")
        found[part] += event.self_cpu_time_total / 1e6
    found["Python"] = max(0.0, seconds - sum(found.values()))
    return {part: share / sum(found.values()) for part, share in found.items()}


def main() -> None:
    """Print a table of rates and one of parts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--material", type=Path, required=True)
    parser.add_argument("--contestants", nargs="+", default=["transformer"], help=f"{', '.join(METHODS)}, or folders")
    parser.add_argument("--precisions", nargs="+", choices=PRECISIONS, default=["fp32"])
    parser.add_argument("--size", choices=SIZES, default="small")
    parser.add_argument("--sentences", type=int, default=500)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--batch-tokens", type=int, default=Decoding().batch_tokens)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--profile", action="store_true", help="the parts of the first contestant's time as well")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    task = TaskData.load(options.material / "task", verify=False)
    sources = list(task.split("test").source)[: options.sentences]
    models = {name: timed_model(options, name, len(task.target_vocab)) for name in options.contestants}

    def translate(name: str, precision: Any, part: slice = slice(None)) -> int:
        config = Decoding(precision=precision, batch_tokens=options.batch_tokens)
        labels = torch.zeros(len(sources[part]), dtype=torch.long)
        found = translate_ids(models[name], sources[part], config, device=torch.device("cpu"), domains=labels)
        return int(np.sum([len(best[0].ids) + 1 for best in found]))

    times: dict[tuple[str, str], list[tuple[float, float]]] = {}
    words: dict[tuple[str, str], int] = {}
    for turn in range(options.rounds):
        for key in ((name, precision) for name in models for precision in options.precisions):
            if turn == 0:
                translate(*key, slice(8))
            wall, cpu = time.perf_counter(), time.process_time()
            words[key] = translate(*key)
            times.setdefault(key, []).append((time.perf_counter() - wall, time.process_time() - cpu))
    rows: list[dict[str, Any]] = []
    print("| model | precision | M parameters | sentences/s | tokens/s | ms of processors a sentence | of the first |")
    print("|---|---|---:|---:|---:|---:|---:|")
    for (name, precision), found in times.items():
        wall = statistics.median(one for one, _ in found)
        cpu = 1000 * min(one for _, one in found) / len(sources)
        millions = sum(parameter.numel() for parameter in models[name].parameters()) / 1e6
        rows.append({"model": name, "precision": precision, "sentences_per_second": len(sources) / wall, "cpu_ms": cpu})
        share = cpu / rows[0]["cpu_ms"]
        rates = f"{len(sources) / wall:.1f} | {words[name, precision] / wall:,.0f} | {cpu:.2f} | {share:.2f}"
        print(f"| {name} | {precision} | {millions:.1f} | {rates} |", flush=True)
    parts: dict[str, float] = {}
    if options.profile:
        first = next(iter(times))
        parts = parts_of(lambda: translate(*first, slice(100, 200)))
        print("\n| part | share |\n|---|---:|")
        for part, share in sorted(parts.items(), key=lambda one: -one[1]):
            print(f"| {part} | {100 * share:.1f} % |")
    if options.json is not None:
        fsio.write_json(options.json, {"rates": rows, "parts": parts, "provenance": provenance.collect()})


if __name__ == "__main__":
    main()
