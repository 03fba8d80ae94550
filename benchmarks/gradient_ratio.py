"""How strongly an auxiliary domain loss pulls at a model beside translation, at initialisation.

    python benchmarks/gradient_ratio.py [--size papers] [--task FOLDER] [--methods advl waldm-encoder-advl]
    python benchmarks/gradient_ratio.py --task FOLDER --run results/runs/TASK/advl/seed1-...

For each method and both values of `aux_norm`: the norm of the gradient of all domain losses, divided by the norm of the
gradient of the translation loss, over the parameters that both losses train. The parameters of the domain classifiers
themselves are left out, since translation does not train them; so are those that the domain losses do not reach. Both
gradients are those of one update, divided by its target words, as in training. The ratio is the mean over --batches
batches of --max-tokens tokens, each with freshly drawn weights. Dropout is off and no embeddings are tied, as in the
recipe of Jiang et al., so that the shared parameters are those of the encoder and the source embedding.

With --run the weights are those of a finished run, and sizes and options are its own.

The text is that of a task's folder (results/tasks/NAME-...), or random words of realistic lengths in four domains.
Prints a Markdown table; --json writes the numbers to a file.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import methods as costs
import torch
import workload
from torch import Tensor

from mdnmt import fsio, methods
from mdnmt.checkpoints.weights import load_model
from mdnmt.config.method import load_method
from mdnmt.methods.method import Method, VocabSizes
from mdnmt.models.batch import Batch
from mdnmt.models.losses import Loss
from mdnmt.tasks.task_data import TaskData
from mdnmt.train.batches import collate, epoch_batches, usable

AuxNorm = Literal["text", "code"]
READINGS: tuple[AuxNorm, ...] = ("text", "code")
MAX_LENGTH = 250
DEMO = {"model_dim": 128, "ffn_dim": 512, "encoder_layers": 2, "decoder_layers": 2, "norm": "pre"}
SIZES: dict[str, dict[str, Any]] = {"demo": DEMO, **workload.SIZES}
METHODS = (
    "mtl",
    "advl",
    "padvl",
    "wdc-wl",
    "waldm-encoder-mtl",
    "waldm-encoder-advl",
    "waldm-encoder-padvl",
    "waldm-edc-mtl",
    "waldm-edc-advl",
    "waldm-edc-padvl",
)


def load_batches(folder: Path | None, max_tokens: int, count: int) -> tuple[list[Batch], int, int]:
    """Return the first batches of an epoch, the size of the joint vocabulary and the number of domains."""
    if folder is None:
        vocab_size, num_domains, bos = 8000, workload.DOMAINS, 1
        split = workload.random_split(20_000, vocab_size)
    else:
        data = TaskData.load(folder, verify=False)
        vocab_size, num_domains, bos = len(data.target_vocab), len(data.domains), data.target_vocab.bos
        split = data.split("train")
    rows = usable(split, list(range(num_domains)), MAX_LENGTH)
    chosen = epoch_batches(split, rows, max_tokens=max_tokens, seed=1, epoch=0)[:count]
    return [collate(split, batch, bos=bos) for batch in chosen], vocab_size, num_domains


def build(name: str, aux_norm: AuxNorm, size: dict[str, Any], vocab_size: int, num_domains: int) -> Method:
    """Return a method of config/methods with random weights, in one of the two readings."""
    file = load_method(costs.CONFIG, name)
    options = {
        **workload.COMMON,
        **size,
        "dropout": 0.0,
        "share_embeddings": "none",
        **file.architecture,
        "aux_norm": aux_norm,
    }
    config = methods.validate(file.builder, options, where=name)
    return methods.build(file.builder, config, VocabSizes(vocab_size, vocab_size, joint=True), num_domains)


def gradient_ratios(readings: Sequence[Method], batch: Batch) -> list[float]:
    """Return |gradient of the domain losses| / |gradient of translation| over the parameters that both train.

    Args:
        readings: methods that differ in the scale of the domain losses alone: all losses are computed on the output of
            the first one. The first loss of a method is that of translation, all others are domain losses.
        batch: of one update.
    """
    model = readings[0].model
    parameters = list(model.parameters())
    output = model(batch)

    def gradients(losses: Sequence[Loss]) -> Sequence[Tensor | None]:
        total = torch.stack([loss(output, batch) for loss in losses]).sum() / batch.num_target_tokens
        return torch.autograd.grad(total, parameters, retain_graph=True, allow_unused=True)

    translation = gradients(readings[0].losses[:1])
    ratios = []
    for reading in readings:
        pairs = zip(gradients(reading.losses[1:]), translation, strict=True)
        shared = [(domain, words) for domain, words in pairs if domain is not None and words is not None]
        domain_norm, words_norm = (torch.nn.utils.get_total_norm(list(side)) for side in zip(*shared, strict=True))
        ratios.append(float(domain_norm / words_norm))
    return ratios


def measure(
    names: Sequence[str], batches: Sequence[Batch], size: dict[str, Any], vocab_size: int, num_domains: int
) -> dict[str, dict[str, float]]:
    """Return the mean ratio of each method in each reading."""
    found: dict[str, dict[str, float]] = {}
    for name in names:
        rows = []
        for seed, batch in enumerate(batches):
            torch.manual_seed(seed)
            readings = [build(name, aux_norm, size, vocab_size, num_domains) for aux_norm in READINGS]
            rows.append(gradient_ratios(readings, batch))
        found[name] = dict(zip(READINGS, map(statistics.fmean, zip(*rows, strict=True)), strict=True))
    return found


def measure_run(
    folder: Path, batches: Sequence[Batch], vocab_size: int, num_domains: int
) -> dict[str, dict[str, float]]:
    """Return the mean ratio of a finished run in each reading, at its final weights."""
    record = fsio.read_json(folder / "run.json")
    spec, vocab = record["spec"], VocabSizes(vocab_size, vocab_size, joint=True)
    weights = load_model(folder / "model.safetensors", record["model_sha256"])
    readings = []
    for aux_norm in READINGS:
        options = {**spec["architecture"], "dropout": 0.0, "aux_norm": aux_norm}
        config = methods.validate(spec["builder"], options, where=str(folder))
        readings.append(methods.build(spec["builder"], config, vocab, num_domains))
        readings[-1].model.load_state_dict(weights)
    rows = [gradient_ratios(readings, batch) for batch in batches]
    return {record["method"]: dict(zip(READINGS, map(statistics.fmean, zip(*rows, strict=True)), strict=True))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", type=Path, help="folder of a task's data (default: random words)")
    parser.add_argument("--run", type=Path, help="folder of a finished run on that task (default: random weights)")
    parser.add_argument("--size", choices=SIZES, default="papers", help="default: %(default)s")
    parser.add_argument("--norm", choices=["pre", "post"], help="default: that of the size")
    parser.add_argument("--methods", nargs="+", default=METHODS, metavar="NAME", help="default: all with both readings")
    parser.add_argument("--max-tokens", type=int, default=4000, help="of a batch (default: %(default)s)")
    parser.add_argument("--batches", type=int, default=3, help="default: %(default)s")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", type=Path, help="write the numbers here as well")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    size = SIZES[args.size] | ({"norm": args.norm} if args.norm else {})
    batches, vocab_size, num_domains = load_batches(args.task, args.max_tokens, args.batches)
    sentences = statistics.fmean(len(batch.domain_B) for batch in batches)
    words = statistics.fmean(batch.num_target_tokens for batch in batches)
    print(f"{num_domains} domains; on average {sentences:.0f} sentences and {words:.0f} target words in a batch\n")
    found = (
        measure_run(args.run, batches, vocab_size, num_domains)
        if args.run
        else measure(args.methods, batches, size, vocab_size, num_domains)
    )
    print("| method | `text` | `code` |\n|---|---:|---:|")
    for name, ratios in found.items():
        print(f"| `{name}` | {ratios['text']:.2g} | {ratios['code']:.2g} |")
    if args.json:
        fsio.write_json(args.json, {"sentences": sentences, "target_words": words, "ratios": found})


if __name__ == "__main__":
    main()
