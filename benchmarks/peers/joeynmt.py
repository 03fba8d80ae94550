"""JoeyNMT as a contestant: its trainer and its beam search; see common.py.

It fills batches by tokens without sorting them by length, and its Transformer keeps no keys and values while decoding.
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
from argparse import Namespace
from pathlib import Path
from typing import Any

from common import (
    BATCH_TOKENS,
    MAX_LENGTH,
    SIZES,
    SPECIALS,
    Enough,
    Result,
    Updates,
    main,
    read_model,
    read_vocab,
    timed_translation,
    write_training_text,
)
from weights import layers_as_theirs, order_of, position_table, read_weights

sys.path.pop(0)  # this file has the name of the package

ORDER = ("<unk>", "<pad>", "<s>", "</s>")  # its special pieces
SENTENCES = 64  # of a batch that is translated
NORM_EPSILON = 1e-5  # ours; the toolkit's own is 1e-6


def configuration(options: Namespace, size: dict[str, int], norm: str, folder: Path) -> dict[str, Any]:
    """Return what a user writes into the toolkit's YAML file."""
    (folder / "vocab").write_text("\n".join(read_vocab(options.material)[len(SPECIALS) :]) + "\n", encoding="utf-8")
    side = {"level": "word", "max_length": MAX_LENGTH, "voc_file": str(folder / "vocab")}
    stack = {
        "type": "transformer",
        "num_heads": size["num_heads"],
        "embeddings": {"embedding_dim": size["model_dim"], "scale": True, "dropout": 0.1},
        "hidden_size": size["model_dim"],
        "ff_size": size["ffn_dim"],
        "dropout": 0.1,
        "layer_norm": norm,
        "activation": "relu",
    }
    return {
        "name": "benchmark",
        "joeynmt_version": "2.3.0",
        "model_dir": str(folder / "model"),
        "use_cuda": False,
        "random_seed": 1,
        "normalization": "tokens",
        "data": {
            "train": str(folder / "text" / "train"),
            "dev": str(folder / "text" / "valid"),
            "dataset_type": "plain",
            "src": {"lang": "src", **side},
            "trg": {"lang": "tgt", **side},
        },
        "training": {
            "optimizer": "adam",
            "adam_betas": [0.9, 0.98],
            "learning_rate": 0.001,
            "scheduling": "warmupinversesquareroot",
            "learning_rate_warmup": 4000,
            "loss": "crossentropy",
            "label_smoothing": 0.1,
            "normalization": "tokens",
            "batch_size": BATCH_TOKENS,
            "batch_type": "token",
            "epochs": 1000,
            "validation_freq": 1_000_000,
            "logging_freq": 100,
            "keep_best_ckpts": 1,
        },
        "testing": {"batch_size": SENTENCES, "batch_type": "sentence", "beam_size": 1},
        "model": {
            "initializer": "xavier_uniform",
            "embed_initializer": "xavier_uniform",
            "tied_embeddings": True,
            "tied_softmax": True,
            "encoder": {**stack, "num_layers": size["encoder_layers"]},
            "decoder": {**stack, "num_layers": size["decoder_layers"]},
        },
    }


def train(options: Namespace) -> Result:
    """Train by TrainManager; an update is over when the next one begins."""
    import torch
    from joeynmt.training import TrainManager
    from joeynmt.training import train as run

    torch.set_num_threads(options.threads)
    updates = Updates(options)
    own_step = TrainManager._train_step
    words: list[int] = []
    parameters = []

    def counted_step(self: TrainManager, batch: Any) -> Any:
        if words:
            updates.add(words.pop())
        else:
            parameters.append(sum(parameter.numel() for parameter in self.model.parameters()))
        words.append(batch.ntokens)
        return own_step(self, batch)

    TrainManager._train_step = counted_step
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_training_text(options.material, folder / "text")
        (folder / "model").mkdir()
        with contextlib.suppress(Enough):
            run(0, 1, configuration(options, SIZES[options.size], "post", folder), skip_test=True)
    return {**updates.result, "parameters": parameters[0]}


def convert(weights: dict[str, Any], size: dict[str, int], pieces: list[str]) -> dict[str, Any]:
    """Return the state of a model of the toolkit with our weights, pre-norm or post-norm."""
    embedding = weights["output_weight"][order_of(ORDER, pieces)]
    state = {
        "src_embed.lut.weight": embedding,
        "trg_embed.lut.weight": embedding,
        "decoder.output_layer.weight": embedding,
    }
    feed_forward = {
        "ffn.first": "feed_forward.pwff_layer.0",
        "ffn.second": "feed_forward.pwff_layer.3",
        "ffn_residual.norm": "feed_forward.layer_norm",
    }
    names = {
        "encoder": {
            "attention.out": "src_src_att.output_layer",
            "attention_residual.norm": "layer_norm",
            **feed_forward,
        },
        "decoder": {
            "self_attention.out": "trg_trg_att.output_layer",
            "self_attention_residual.norm": "x_layer_norm",
            "cross_attention.query": "src_trg_att.q_layer",
            "cross_attention.out": "src_trg_att.output_layer",
            "cross_attention_residual.norm": "dec_layer_norm",
            **feed_forward,
        },
    }
    fused = {
        "encoder": {"attention.qkv": ("src_src_att", ("q_layer", "k_layer", "v_layer"))},
        "decoder": {
            "self_attention.qkv": ("trg_trg_att", ("q_layer", "k_layer", "v_layer")),
            "cross_attention.key_value": ("src_trg_att", ("k_layer", "v_layer")),
        },
    }
    for side in names:
        state[f"{side}.pe.pe"] = position_table(5000, size["model_dim"]).unsqueeze(0)
        if f"{side}.norm.weight" in weights:  # pre-norm
            state |= {f"{side}.layer_norm.{kind}": weights[f"{side}.norm.{kind}"] for kind in ("weight", "bias")}
        state |= layers_as_theirs(weights, side, f"{side}.layers", names[side], fused[side])
    return state


def load(options: Namespace, folder: Path) -> tuple[Any, Any, Any]:
    """Return a model of the toolkit with our weights, a dataset for lines, and the configuration as it reads it."""
    import torch
    from joeynmt.config import parse_global_args
    from joeynmt.data import load_data
    from joeynmt.model import build_model

    size = read_model(options.model)["architecture"]
    config = parse_global_args(configuration(options, size, size["norm"], folder))
    source_vocab, target_vocab, _, _, stream = load_data(config.data, datasets=["stream"])
    model = build_model(config.model, source_vocab, target_vocab)
    model.load_state_dict(convert(read_weights(options.model), size, read_vocab(options.material)))
    for module in model.modules():
        if isinstance(module, torch.nn.LayerNorm):
            module.eps = NORM_EPSILON
    return model.eval(), stream, config


def decode(options: Namespace) -> Result:
    """Translate by `predict`, in batches in the order of the text, as its command line does with a file."""
    import torch
    from joeynmt.prediction import predict

    torch.set_num_threads(options.threads)
    with tempfile.TemporaryDirectory() as name:
        model, stream, config = load(options, Path(name))
    arguments = config.test._replace(beam_size=options.beam, beam_alpha=1.0, batch_size=SENTENCES)

    def translate(sentences: list[list[str]]) -> list[list[str]]:
        stream.reset_cache()
        for sentence in sentences:
            stream.set_item(" ".join(sentence))
        found = predict(
            model=model,
            data=stream,
            device=config.device,
            n_gpu=0,
            normalization="tokens",
            args=arguments,
            autocast=config.autocast,
        )
        return [[piece for piece in pieces if piece != "</s>"] for pieces in found[3]]

    return timed_translation(translate, options)


if __name__ == "__main__":
    main("joeynmt", train=train, decode=decode)
