"""OpenNMT-py as a contestant: its own trainer, and its own beam search with our pre-norm weights; see common.py.

It knows no post-norm, so it trains pre-norm (as many multiplications).
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import tempfile
import types
from pathlib import Path
from typing import Any

from common import (
    BATCH_TOKENS,
    LONGEST,
    SIZES,
    Enough,
    Result,
    Updates,
    main,
    read_model,
    read_vocab,
    timed_translation,
    write_training_text,
)

BATCH_SENTENCES = 64
EOS = "</s>"  # our models see it behind the source; the toolkit itself puts none there
PAD = "<blank>"  # its name of the piece, which it would add where it is missing
# Text transforms that nobody asked for import these packages when the toolkit is imported.
for missing in ("spacy", "fasttext", "regex"):
    with contextlib.suppress(ImportError):
        __import__(missing)
    sys.modules.setdefault(missing, types.ModuleType(missing))


def configure(options: argparse.Namespace, size: dict[str, Any], text: Path, folder: Path) -> Any:
    """Return its options of a Transformer as ours."""
    from onmt.bin.train import _get_parser
    from onmt.utils.parse import ArgumentParser

    folder.mkdir(parents=True, exist_ok=True)
    pieces = [PAD if piece == "<pad>" else piece for piece in read_vocab(options.material)]
    (folder / "vocab.txt").write_text("".join(f"{piece}\n" for piece in pieces), encoding="utf-8")
    config = {
        "data": {
            "train": {
                "path_src": str(text / "train.src"),
                "path_tgt": str(text / "train.tgt"),
                "transforms": [],
                "weight": 1,
            }
        },
        "save_data": str(folder),
        "save_model": str(folder / "model"),
        "src_vocab": str(folder / "vocab.txt"),
        "share_vocab": True,
        "vocab_size_multiple": 1,
        "seed": 1,
        "encoder_type": "transformer",
        "decoder_type": "transformer",
        "hidden_size": size["model_dim"],
        "word_vec_size": size["model_dim"],
        "transformer_ff": size["ffn_dim"],
        "heads": size["num_heads"],
        "enc_layers": size["encoder_layers"],
        "dec_layers": size["decoder_layers"],
        "position_encoding": True,
        "position_encoding_type": "SinusoidalConcat",
        "share_embeddings": True,
        "share_decoder_embeddings": True,
        "add_qkvbias": True,
        "add_ffnbias": True,
        "pos_ffn_activation_fn": "relu",
        "norm_eps": 1e-5,
        "batch_type": "tokens",
        "batch_size": BATCH_TOKENS,
        "normalization": "tokens",
        "bucket_size": 50_000,  # pairs that are read and sorted by length before the first update
        "dropout": [0.1],
        "attention_dropout": [0.0],
        "label_smoothing": 0.1,
        "max_grad_norm": 0,
        "optim": "adam",
        "adam_beta2": 0.98,
        "decay_method": "noam",
        "learning_rate": 2.0,
        "param_init": 0.0,
        "param_init_glorot": True,
        "save_checkpoint_steps": 1_000_000,
        "keep_checkpoint": 0,
    }
    file = folder / "config.json"  # JSON is YAML
    file.write_text(json.dumps(config), encoding="utf-8")
    chosen = _get_parser().parse_args(["-config", str(file)])
    ArgumentParser.validate_train_opts(chosen)
    ArgumentParser.update_model_opts(chosen)
    ArgumentParser.validate_model_opts(chosen)
    return chosen


def train(options: argparse.Namespace) -> Result:
    """Run what `onmt_train` runs until enough updates are done."""
    import torch
    from onmt.train_single import main as run
    from onmt.trainer import Trainer

    torch.set_num_threads(options.threads)
    updates, do_update, parameters = Updates(options), Trainer._gradient_accumulation, 0

    def counted(trainer: Any, batches: list[Any], *arguments: Any) -> None:
        nonlocal parameters
        do_update(trainer, batches, *arguments)
        padding = trainer.train_loss.padding_idx
        parameters = sum(parameter.numel() for parameter in trainer.model.parameters())
        updates.add(sum(int(batch["tgt"][:, 1:, 0].ne(padding).sum()) for batch in batches))

    Trainer._gradient_accumulation = counted
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_training_text(options.material, folder, ["train"])
        with contextlib.suppress(Enough):
            run(configure(options, SIZES[options.size], folder, folder / "work"), -1)
    return {**updates.result, "parameters": parameters}


def convert(options: argparse.Namespace, folder: Path) -> Path:
    """Write our weights as a checkpoint of its kind."""
    import torch
    from onmt.inputters.inputter import build_vocab, vocabs_to_dict
    from onmt.model_builder import build_base_model
    from onmt.utils.parse import ArgumentParser
    from weights import put

    architecture = read_model(options.model)["architecture"]
    if architecture["norm"] != "pre":
        raise SystemExit(f"{options.model}: post-norm; OpenNMT-py knows only pre-norm: train a model with --norm pre")
    chosen = configure(options, architecture, options.material, folder)
    ArgumentParser.validate_prepare_opts(chosen)
    vocabs = build_vocab(chosen, {"src": [], "tgt": []})
    state = build_base_model(chosen, vocabs).state_dict()
    put(state, as_theirs(options.model))
    generator = {name.removeprefix("generator."): state.pop(name) for name in [*state] if name.startswith("generator.")}
    generator["bias"].zero_()
    checkpoint = {"model": state, "generator": generator, "vocab": vocabs_to_dict(vocabs), "opt": chosen, "optim": {}}
    torch.save(checkpoint, folder / "model.pt")
    return folder / "model.pt"


def as_theirs(model: Path) -> dict[str, Any]:
    """Return our weights under its names."""
    from weights import layers_as_theirs, read_weights

    ours = read_weights(model)
    theirs = {"generator.weight": ours["output_weight"]}
    for side, stack in (("encoder", "transformer"), ("decoder", "transformer_layers")):
        theirs[f"{side}.embeddings.make_embedding.emb_luts.0.weight"] = ours["source_embedding.weight"]
        own = "attention" if side == "encoder" else "self_attention"
        # Modules of weight and bias: ours -> theirs.
        modules = {
            f"{own}.out": "self_attn.final_linear",
            f"{own}_residual.norm": "layer_norm" if side == "encoder" else "layer_norm_1",
            "ffn.first": "feed_forward.w_1",
            "ffn.second": "feed_forward.w_2",
            "ffn_residual.norm": "feed_forward.layer_norm",
        }
        split = {f"{own}.qkv": ("self_attn", ("linear_query", "linear_keys", "linear_values"))}
        if side == "decoder":
            modules |= {
                "cross_attention.out": "context_attn.final_linear",
                "cross_attention_residual.norm": "layer_norm_2",
            }
            split |= {
                "cross_attention.query": ("context_attn", ("linear_query",)),
                "cross_attention.key_value": ("context_attn", ("linear_keys", "linear_values")),
            }
        for kind in ("weight", "bias"):
            theirs[f"{side}.layer_norm.{kind}"] = ours[f"{side}.norm.{kind}"]
        theirs |= layers_as_theirs(ours, side, f"{side}.{stack}", modules, split)
    return theirs


def decode(options: argparse.Namespace) -> Result:
    """Translate by its inference engine."""
    import torch
    from onmt.bin.translate import _get_parser
    from onmt.inference_engine import InferenceEnginePY
    from onmt.utils.parse import ArgumentParser

    torch.set_num_threads(options.threads)
    torch.serialization.add_safe_globals([argparse.Namespace, set])  # of its own checkpoint
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        given = {"-model": convert(options, folder), "-src": options.material / "test.src", "-output": folder / "out"}
        given |= {"-beam_size": options.beam, "-batch_size": BATCH_SENTENCES, "-max_length": LONGEST}
        # Scores divided by length, as ours; sentences of a batch are of like length.
        given |= {"-length_penalty": "avg", "-alpha": 1.0, "-batch_type": "sents"}
        chosen = _get_parser().parse_args([str(word) for pair in given.items() for word in pair])
        ArgumentParser.validate_translate_opts(chosen)
        ArgumentParser._get_all_transform_translate(chosen)
        ArgumentParser._validate_transforms_opts(chosen)
        ArgumentParser.validate_translate_opts_dynamic(chosen)
        engine = InferenceEnginePY(chosen)

        def translate(sentences: list[list[str]]) -> list[list[str]]:
            _, found = engine.infer_list([" ".join([*pieces, EOS]) for pieces in sentences])
            return [best[0].split() for best in found]

        return timed_translation(translate, options)


if __name__ == "__main__":
    main("OpenNMT-py", train=train, decode=decode)
