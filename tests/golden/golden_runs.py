"""Tiny runs in float64, one for each family of methods, and what they gave when they were recorded.

A comment or a faster kernel must not retrain anything, so the code is no part of a run's address; these numbers notice
a change of results instead. To record them again, after the stage's number in `mdnmt.fingerprint.STAGE_VERSIONS` was
raised:

    make golden
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from mdnmt.checkpoints.store import CheckpointStore
from mdnmt.config.decoding import Decoding
from mdnmt.config.method import load_method
from mdnmt.config.run import RunSpec
from mdnmt.config.training import Training
from mdnmt.decode.batching import translate_ids
from mdnmt.decode.forced_decoding import decoder_states, force_decode
from mdnmt.fsio import write_text
from mdnmt.methods import validate
from mdnmt.tasks.task_data import TaskData
from mdnmt.train.device import make_deterministic
from mdnmt.train.metrics_log import MetricsLog, read_metrics
from mdnmt.train.run import build_method
from mdnmt.train.signals import StopRequest
from mdnmt.train.trainer import RuntimeOptions, Trainer

ROOT = Path(__file__).resolve().parents[2]
VALUES = Path(__file__).with_name("values.json")
# One file of config/methods for each way of computing; what differs in a number alone needs no row.
METHODS = (
    *("mixed", "domain-tag", "mtl", "advl", "padvl", "wdc-wl", "wl"),
    *("waldm-encoder", "waldm-edc", "waldm-edc-wl", "waldm-edc-released-code", "waldm-encoder-advl", "naive-edc"),
    *("dsa", "dsa-all", "dsa-guided", "dmoe-domain", "dmoe-mix", "damha", "damha-dmoe-domain-lb1"),
    *("damha-dmoe-mix-loss", "damha-moe-mix", "ldspslv", "adapters"),
)
SIZES = {"model_dim": 16, "ffn_dim": 24, "num_heads": 2, "encoder_layers": 2, "decoder_layers": 2, "dropout": 0.1}
RECIPE = {
    "max_updates": 5,
    "max_tokens": 150,
    "learning_rate": 0.02,
    "warmup_updates": 2,
    "validate_every": 5,
    "validation_bleu_sentences": 0,
    "average_checkpoints": 1,
    "log_every": 1,
    "precision": "fp32",
}
BEAM = {"beam_size": 3, "nbest": 2, "max_length_extra": 4}
SENTENCES = 3  # of each domain that are translated


@contextmanager
def float64() -> Iterator[None]:
    """Make new tensors double, so that the order of sums changes nothing that is compared."""
    before, threads = torch.get_default_dtype(), torch.get_num_threads()
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_default_dtype(before)
        torch.set_num_threads(threads)


def digest(data: TaskData) -> str:
    """Return a hash of the text that the runs are made from."""
    found = hashlib.sha256()
    for name in ("train", "valid", "test"):
        split = data.split(name)
        for side in (split.source, split.target):
            for row in range(len(side.lengths)):
                found.update(side[row].tobytes() + b"|")
    return found.hexdigest()[:16]


def options(method: str) -> dict[str, Any]:
    """Return the builder of a method and its complete options, so that a later default does not change a run."""
    config = load_method(ROOT / "config", method)
    given = {**config.architecture, **SIZES}
    given.pop("size", None)
    return {
        "builder": config.builder,
        "architecture": validate(config.builder, given, where=method).model_dump(mode="json"),
    }


def train(given: dict[str, Any], training: dict[str, Any], decoding: dict[str, Any], data: TaskData) -> dict[str, Any]:
    """Return the losses of each update, those of validation, and translations with their scores."""
    spec = RunSpec(
        task_fingerprint=data.fingerprint,
        builder=given["builder"],
        architecture=given["architecture"],
        training=Training.model_validate(training),
        domains=tuple(data.domains),
        seed=7,
    )
    device = torch.device("cpu")
    with float64(), tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_deterministic(spec.seed, 1)
        method = build_method(spec, data, device)
        assert all(parameter.dtype == torch.float64 for parameter in method.model.parameters())
        with MetricsLog(folder / "metrics.jsonl") as metrics:
            store = CheckpointStore(folder / "ckpt", spec.fingerprint)
            trainer = Trainer(
                spec, data, method, device=device, store=store, metrics=metrics, lease=None, runtime=RuntimeOptions()
            )
            trainer.run(StopRequest())
        records = read_metrics(folder / "metrics.jsonl")
        decoded = _decode(method.model.eval(), data, Decoding.model_validate(decoding), device)
    return {
        "losses": [record["losses"] for record in records if record.get("split") == "train"],
        "validation": {one["domain"]: one["loss"] for one in records if one.get("split") == "valid"},
        **decoded,
    }


def _decode(model: Any, data: TaskData, config: Decoding, device: torch.device) -> dict[str, Any]:
    split = data.split("test")
    rows = [row for k in range(len(data.domains)) for row in _rows(split.domains, k)]
    sources, targets = [split.source[row] for row in rows], [split.target[row] for row in rows]
    labels = torch.tensor([int(split.domains[row]) for row in rows])
    with torch.inference_mode():
        found = translate_ids(model, sources, config, device=device, domains=labels)
        forced = force_decode(
            decoder_states(model, labels),
            model.output_weight,
            sources,
            targets,
            start=data.target_vocab.bos,
            pad=data.target_vocab.pad,
            max_source=model.max_source_length,
            max_target=model.max_target_length,
            batch_tokens=config.batch_tokens,
        )
    return {
        "translations": [[list(one.ids) for one in best] for best in found],
        "scores": [[one.score for one in best] for best in found],
        "likelihood": list(forced.nll),
    }


def _rows(domains: Any, label: int) -> list[int]:
    return [row for row in range(len(domains)) if domains[row] == label][:SENTENCES]


def recorded() -> dict[str, Any]:
    """Return the recorded runs: their options and what they gave."""
    found: dict[str, Any] = json.loads(VALUES.read_text(encoding="utf-8"))
    return found


def main() -> None:
    """Record all runs anew."""
    from conftest import TOY_WORDS, build_toy_task

    with tempfile.TemporaryDirectory() as name:
        data = TaskData.load(build_toy_task(Path(name), TOY_WORDS))
        training = Training.model_validate(RECIPE).model_dump(mode="json")
        decoding = Decoding.model_validate(BEAM).model_dump(mode="json")
        head = {"data": digest(data), "training": training, "decoding": decoding}
        lines = [f'"{key}": {json.dumps(value)},' for key, value in head.items()]
        for method in METHODS:
            given = options(method)
            found = {"options": given, **train(given, training, decoding, data)}
            lines += [f'"{method}": {{', *(f' "{key}": {json.dumps(value)},' for key, value in found.items())]
            lines[-1] = f"{lines[-1].removesuffix(',')}}},"
    lines.insert(len(head), '"runs": {')
    lines[-1] = lines[-1].removesuffix(",")
    write_text(VALUES, "\n".join(["{", *lines, "}}"]) + "\n")
    print(f"{VALUES.relative_to(ROOT)}: recorded {len(METHODS)} runs")


if __name__ == "__main__":
    main()
