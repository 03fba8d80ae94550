"""mdnmt as a contestant: its own trainer and beam search; see common.py.

--precision: of training auto (bf16 where the CPU multiplies it) or fp32, of translation fp32 (auto), bf16 or int8.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import tempfile
from pathlib import Path
from typing import Any

from common import (
    BATCH_TOKENS,
    LONGEST,
    MAX_LENGTH,
    SIZES,
    Enough,
    Result,
    Updates,
    main,
    read_model,
    timed_translation,
)


def train(options: argparse.Namespace) -> Result:
    """Run the trainer; it writes a line of metrics.jsonl every few updates, which is where the words are read."""
    import torch

    from mdnmt.checkpoints.store import CheckpointStore
    from mdnmt.config.run import RunSpec
    from mdnmt.config.training import Training
    from mdnmt.tasks.task_data import TaskData
    from mdnmt.train.device import make_deterministic
    from mdnmt.train.run import build_method
    from mdnmt.train.signals import StopRequest
    from mdnmt.train.trainer import RuntimeOptions, Trainer

    data = TaskData.load(options.material / "task")
    recipe = Training(
        max_updates=1_000_000,
        max_tokens=BATCH_TOKENS,
        max_length=MAX_LENGTH,
        clip_norm=0,
        precision=options.precision,
        validate_every=1_000_000,
        log_every=1,
    )
    architecture = {
        **SIZES[options.size],
        "norm": "post",
        "share_embeddings": "all",
        "dropout": 0.1,
        "label_smoothing": 0.1,
    }
    spec = RunSpec(
        task_fingerprint=data.fingerprint,
        builder="transformer",
        architecture=architecture,
        training=recipe,
        domains=data.domains,
        seed=1,
    )
    device = torch.device("cpu")
    make_deterministic(spec.seed, options.threads)
    method = build_method(spec, data, device)
    updates = Updates(options)
    with tempfile.TemporaryDirectory() as folder:
        trainer = Trainer(
            spec,
            data,
            method,
            device=device,
            store=CheckpointStore(Path(folder), spec.fingerprint),
            metrics=_Metrics(updates),  # type: ignore[arg-type]
            lease=None,
            runtime=RuntimeOptions(),
        )
        with contextlib.suppress(Enough):
            trainer.run(StopRequest())
    parameters = sum(parameter.numel() for parameter in method.model.parameters())
    return {**updates.result, "parameters": parameters, "precision": options.precision}


class _Metrics:
    """Stands where metrics.jsonl does; the words of an update are its words per second times its time."""

    def __init__(self, updates: Updates) -> None:
        self.updates, self.before = updates, 0.0

    def append(self, record: dict[str, Any]) -> None:
        words = record["tokens_per_second"] * (record["seconds"] - self.before)
        self.before = record["seconds"]
        self.updates.add(round(words) if math.isfinite(words) else 0)


def decode(options: argparse.Namespace) -> Result:
    """Translate as `mdnmt decode` does, between pieces and pieces."""
    import numpy as np
    import torch

    from mdnmt import methods
    from mdnmt.checkpoints.weights import load_model
    from mdnmt.config.decoding import Decoding
    from mdnmt.decode.batching import translate_ids
    from mdnmt.methods.method import VocabSizes
    from mdnmt.tasks.segmentation.vocabulary import Vocab

    torch.set_num_threads(options.threads)
    vocab = Vocab.load(options.material / "vocab.txt")
    described = read_model(options.model)
    architecture = methods.validate(described["builder"], described["architecture"], where=str(options.model))
    sizes = VocabSizes(described["vocab_size"], described["vocab_size"], joint=True)
    model = methods.build(described["builder"], architecture, sizes, 1).model
    model.load_state_dict(load_model(options.model / "model.safetensors"))
    device = torch.device(options.device)
    model.to(device).eval()
    precision = "fp32" if options.precision == "auto" else options.precision
    config = Decoding(beam_size=options.beam, precision=precision, max_length_ratio=1e-6, max_length_extra=LONGEST)

    def translate(sentences: list[list[str]]) -> list[list[str]]:
        sources = [np.array([*vocab.encode(pieces), vocab.eos], dtype=np.int32) for pieces in sentences]
        found = translate_ids(model, sources, config, device=device)
        return [vocab.decode(best[0].ids) for best in found]

    return {**timed_translation(translate, options), "precision": precision}


if __name__ == "__main__":
    main("mdnmt", train=train, decode=decode)
