"""A tiny COMET model of the library's own class with random weights, so that everything runs without a download."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from mdnmt.fsio import write_bytes, write_text
from mdnmt.score.metrics.comet import KIND, TOY_MARK, build, library
from mdnmt.score.metrics.comet_files import CHECKPOINT, ENCODER, HPARAMS

SEED = 22
_SPECIAL = ("<s>", "<pad>", "</s>", "<unk>")  # in the order of XLM-R
# Characters outside `_PIECES` are encoded as bytes, so that any language works.
_BYTES = tuple(f"<0x{byte:02X}>" for byte in range(256))
_SPACE = "\N{LOWER ONE EIGHTH BLOCK}"
_PIECES = (*_SPECIAL, *_BYTES, _SPACE, *map(chr, range(0x21, 0x7F)), "<mask>")
_ENCODER_CONFIG = {
    "model_type": "xlm-roberta",
    "vocab_size": len(_PIECES),
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "max_position_embeddings": 514,
    "type_vocab_size": 1,
    "layer_norm_eps": 1e-5,
    "bos_token_id": 0,
    "pad_token_id": 1,
    "eos_token_id": 2,
    "initializer_range": 0.5,  # so that sentences differ from each other
}
# As in published models, except for the sizes and the sigmoid, which keeps the meaningless scores between 0 and 100.
_HPARAMS: dict[str, Any] = {
    "activations": "Tanh",
    "batch_size": 4,
    "class_identifier": KIND,
    "dropout": 0.1,
    "encoder_model": "XLM-RoBERTa",
    "final_activation": "Sigmoid",
    "hidden_sizes": [24, 8],
    "keep_embeddings_frozen": True,
    "layer": "mix",
    "layer_norm": False,
    "layer_transformation": "sparsemax",
    "loss": "mse",
    "nr_frozen_epochs": 0.3,
    "pool": "avg",
    "pretrained_model": ENCODER,  # relative: the library itself finds it if started in the toy's folder
    "train_data": [],
    "validation_data": [],
}


def make_toy(folder: Path, seed: int = SEED) -> None:
    """Write a toy model to `folder`, with all files of a real one; equal seeds give equal bytes.

    Raises:
        ConfigError: the library is not installed.
    """
    library()  # before anything is written
    encoder = folder / ENCODER
    write_text(encoder / "config.json", json.dumps(_ENCODER_CONFIG, indent=2) + "\n")
    write_text(encoder / "tokenizer.json", json.dumps(_tokenizer()) + "\n")
    marked = {**_HPARAMS, TOY_MARK: True}
    write_text(folder / HPARAMS, "".join(f"{name}: {json.dumps(value)}\n" for name, value in marked.items()))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        weights = {name: _spread(name, tensor) for name, tensor in build(_HPARAMS, encoder).state_dict().items()}
    # The entries that the library expects in a checkpoint; it reads the version first.
    saved = {"pytorch-lightning_version": "2.6.6", "hyper_parameters": _HPARAMS, "state_dict": weights}
    written = io.BytesIO()  # saved to a path, the archive would contain the file's name
    torch.save(saved, written)
    write_bytes(folder / CHECKPOINT, written.getvalue())


def _spread(name: str, tensor: Tensor) -> Tensor:
    """Return the tensor, scaled up if it belongs to the estimator, so that sentences get different scores."""
    return 5 * tensor if name.startswith("estimator.") else tensor


def _tokenizer() -> dict[str, Any]:
    """Return the content of tokenizer.json: ASCII by character, everything else as bytes, within <s> and </s>."""
    special = [(_PIECES.index(piece), piece) for piece in (*_SPECIAL, "<mask>")]
    plain = {"special": True, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    space = {"type": "Metaspace", "replacement": _SPACE, "prepend_scheme": "always", "split": True}
    start, end = ({"SpecialToken": {"id": piece, "type_id": 0}} for piece in ("<s>", "</s>"))
    first, second = ({"Sequence": {"id": name, "type_id": 0}} for name in "AB")
    ends = {
        piece: {"id": piece, "ids": [number], "tokens": [piece]}
        for number, piece in special
        if piece in ("<s>", "</s>")
    }
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [{"id": number, "content": piece, **plain} for number, piece in special],
        "normalizer": {"type": "NFKC"},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, space]},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [start, first, end],
            "pair": [start, first, end, end, second, end],
            "special_tokens": ends,
        },
        "decoder": space,
        "model": {
            "type": "Unigram",
            "unk_id": 3,
            "byte_fallback": True,
            "vocab": [[piece, 0.0 if piece in _SPECIAL else -5.0] for piece in _PIECES],
        },
    }
