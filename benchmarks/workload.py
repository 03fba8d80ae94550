"""What is timed: models of named sizes, and batches of real material or of random words of realistic lengths."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from mdnmt import methods
from mdnmt.methods.method import Method, VocabSizes
from mdnmt.tasks.task_data import Ragged, Split, TaskData

NUM_HEADS = 4
COMMON = {"num_heads": NUM_HEADS, "norm": "post", "share_embeddings": "all", "dropout": 0.1, "label_smoothing": 0.1}
SIZES: dict[str, dict[str, Any]] = {
    "tiny": {"model_dim": 32, "ffn_dim": 64, "encoder_layers": 1, "decoder_layers": 1},
    "small": {"model_dim": 256, "ffn_dim": 1024, "encoder_layers": 3, "decoder_layers": 3},
    "papers": {"model_dim": 512, "ffn_dim": 1024, "encoder_layers": 6, "decoder_layers": 6},
}
# Rows of the papers' tables -> (builder, options); the rest of the options is the size.
MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "transformer": ("transformer", {}),
    "waldm-edc": ("waldm", {"mixed_sides": "both"}),
    "damha-dmoe": ("dmoe", {"damha": True, "encoder_ffn": "dmoe", "gate_input": "domain"}),
}
DOMAINS = 4


def make_method(model: str, size: dict[str, Any], vocab_size: int) -> Method:
    """Return a model of random weights with its losses."""
    builder, options = MODELS[model]
    config = methods.validate(builder, {**COMMON, **size, **options}, where="benchmark")
    return methods.build(builder, config, VocabSizes(vocab_size, vocab_size, joint=True), DOMAINS)


def training_pairs(folder: Path | None, vocab_size: int = 8000) -> tuple[Split, int]:
    """Return the training pairs of `material.py`, or random ones, and the size of their vocabulary."""
    if folder is None:
        return random_split(100_000, vocab_size), vocab_size
    task = TaskData.load(folder / "task", verify=False)
    return task.split("train"), len(task.target_vocab)


def random_split(num_pairs: int, vocab_size: int) -> Split:
    """Return pairs of random words whose lengths are spread as those of 100,000 pairs of EU law in pieces."""
    generator = np.random.Generator(np.random.PCG64(1))
    target = np.exp(generator.normal(3.5, 0.65, num_pairs)).clip(2, 249).astype(np.int64)
    source = (target * np.exp(generator.normal(-0.1, 0.22, num_pairs))).clip(2, 249).astype(np.int64)

    def side(lengths: Any) -> Ragged:
        tokens = generator.integers(4, vocab_size, lengths.sum(), dtype=np.int32)
        return Ragged(tokens, np.concatenate([[0], np.cumsum(lengths)]))

    return Split(side(source), side(target), generator.integers(0, DOMAINS, num_pairs, dtype=np.int16))
