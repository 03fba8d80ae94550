"""eole as a contestant: its own trainer, and its own beam search with our pre-norm weights; see common.py.

Of post-norm it knows only the encoder, so it trains pre-norm (as many multiplications).
"""

from __future__ import annotations

import argparse
import contextlib
import json
import tempfile
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
    timed_translation,
    write_training_text,
)

BATCH_SENTENCES = 64
EOS = "</s>"  # our models see it behind the source; the toolkit itself puts none there


def configure(options: argparse.Namespace, size: dict[str, Any], text: Path, folder: Path) -> Any:
    """Return its configuration of a Transformer as ours."""
    from eole.config.run import TrainConfig

    return TrainConfig(
        data={"train": {"path_src": str(text / "train.src"), "path_tgt": str(text / "train.tgt")}},
        transforms=[],
        save_data=str(folder),
        src_vocab=str(options.material / "vocab.txt"),
        share_vocab=True,
        pad_token="<pad>",
        vocab_size_multiple=1,
        seed=1,
        model={
            "architecture": "transformer",
            "hidden_size": size["model_dim"],
            "transformer_ff": size["ffn_dim"],
            "heads": size["num_heads"],
            "encoder": {"layers": size["encoder_layers"]},
            "decoder": {"layers": size["decoder_layers"]},
            "embeddings": {"word_vec_size": size["model_dim"], "position_encoding_type": "SinusoidalConcat"},
            "share_embeddings": True,
            "share_decoder_embeddings": True,
            "generator_bias": False,
            "add_qkvbias": True,
            "add_final_linear_bias": True,
            "add_ffnbias": True,
            "mlp_activation_fn": "relu",
            "norm_eps": 1e-5,
        },
        training={
            "model_path": str(folder),
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
            "param_init_method": "xavier_uniform",
            "save_checkpoint_steps": 1_000_000,
            "keep_checkpoint": 0,
        },
    )


def train(options: argparse.Namespace) -> Result:
    """Run what `eole train` runs (its command line itself asks for a web client) until enough updates are done."""
    import torch
    from eole.train_single import main as run
    from eole.trainer import Trainer

    torch.set_num_threads(options.threads)
    updates, do_step, parameters = Updates(options), Trainer._train_step, 0

    def counted(trainer: Any, batches: list[Any], *arguments: Any, **more: Any) -> None:
        nonlocal parameters
        do_step(trainer, batches, *arguments, **more)
        padding = trainer.train_loss.padding_idx
        parameters = sum(parameter.numel() for parameter in trainer.model.parameters())
        updates.add(sum(int(batch["tgt"][:, 1:].ne(padding).sum()) for batch in batches))

    Trainer._train_step = counted
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_training_text(options.material, folder, ["train"])
        with contextlib.suppress(Enough):
            run(configure(options, SIZES[options.size], folder, folder / "model"), device_id=-1)
    return {**updates.result, "parameters": parameters}


def convert(options: argparse.Namespace, folder: Path) -> None:
    """Write our weights as a model of eole's."""
    import torch
    from eole.config import recursive_model_fields_set
    from eole.inputters.inputter import build_vocab, vocabs_to_dict
    from eole.models.model import get_model_class
    from safetensors.torch import save_file
    from weights import put

    architecture = read_model(options.model)["architecture"]
    if architecture["norm"] != "pre":
        raise SystemExit(f"{options.model}: post-norm; eole knows only pre-norm: train a model with --norm pre")
    config = configure(options, architecture, options.material, folder)
    vocabs = build_vocab(config, {"src": [], "tgt": []})
    model = get_model_class(config.model).for_training(config.model, vocabs, config.training, device_id=-1)
    state = model.state_dict()
    put(state, as_theirs(options.model))
    for tied in ("tgt_emb.embeddings.weight", "generator.weight"):
        del state[tied]
    save_file({name: torch.clone(tensor) for name, tensor in state.items()}, folder / "model.00.safetensors")
    (folder / "vocab.json").write_text(json.dumps(vocabs_to_dict(vocabs)), encoding="utf-8")
    (folder / "config.json").write_text(json.dumps(recursive_model_fields_set(config)), encoding="utf-8")


def as_theirs(model: Path) -> dict[str, Any]:
    """Return our weights under eole's names."""
    from weights import layers_as_theirs, read_weights

    ours = read_weights(model)
    theirs = {"src_emb.embeddings.weight": ours["source_embedding.weight"]}
    # Modules of weight and bias: ours -> theirs.
    both = {
        "ffn.first": "mlp.gate_up_proj",
        "ffn.second": "mlp.down_proj",
        "ffn_residual.norm": "post_attention_layernorm",
    }
    across = {
        "cross_attention.out": "context_attn.final_linear",
        "cross_attention_residual.norm": "precontext_layernorm",
    }
    queries, keys_values = ["linear_query"], ["linear_keys", "linear_values"]
    for side, own in (("encoder", "attention"), ("decoder", "self_attention")):
        theirs |= {f"{side}.layer_norm.{kind}": ours[f"{side}.norm.{kind}"] for kind in ("weight", "bias")}
        modules = both | {f"{own}.out": "self_attn.final_linear", f"{own}_residual.norm": "input_layernorm"}
        projections = {f"{own}.qkv": ("self_attn", [*queries, *keys_values])}
        if side == "decoder":
            modules |= across
            projections["cross_attention.query"] = ("context_attn", queries)
            projections["cross_attention.key_value"] = ("context_attn", keys_values)
        theirs |= layers_as_theirs(ours, side, f"{side}.transformer_layers", modules, projections)
    return theirs


def decode(options: argparse.Namespace) -> Result:
    """Translate by its inference engine."""
    import torch
    from eole.config.run import PredictConfig
    from eole.inference_engine import InferenceEnginePY

    torch.set_num_threads(options.threads)
    with tempfile.TemporaryDirectory() as folder:
        convert(options, Path(folder))
        config = PredictConfig(
            model_path=[folder],
            src="dummy",
            output=str(Path(folder) / "output"),
            beam_size=options.beam,
            batch_size=BATCH_SENTENCES,
            batch_type="sents",
            max_length=LONGEST,
        )
        engine = InferenceEnginePY(config)

        def translate(sentences: list[list[str]]) -> list[list[str]]:
            _, _, found = engine.infer_list([" ".join([*pieces, EOS]) for pieces in sentences])
            return [best[0].split() for best in found]

        return timed_translation(translate, options)


if __name__ == "__main__":
    main("eole", train=train, decode=decode)
