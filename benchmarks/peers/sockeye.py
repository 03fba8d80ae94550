"""sockeye as a contestant: its training command and its translator; see common.py.

It trains pre-norm, as it comes. Its attention has no biases; a model of ours is given to it with them.
"""

from __future__ import annotations

import contextlib
import json
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
from weights import order_of, position_table, read_weights

sys.path.pop(0)  # this file has the name of the package

ORDER = ("<pad>", "<unk>", "<s>", "</s>")  # its special pieces
SENTENCES = 64  # of a batch that is translated
MAX_POSITIONS = 1024
NORM_EPSILON = 1e-5  # ours; the toolkit's own is 1e-6
PROCESSING = {"pre": ("n", "dr"), "post": ("", "drn")}  # what stands before and behind each block


def theirs(options: Namespace) -> dict[str, int]:
    """Return the toolkit's number of each piece."""
    pieces = [*ORDER, *read_vocab(options.material)[len(SPECIALS) :]]
    return {piece: number for number, piece in enumerate(pieces)}


def train(options: Namespace) -> Result:
    """Run what `sockeye-train` runs, until enough updates are done."""
    import torch
    from sockeye import arguments, constants, training
    from sockeye.train import train as run

    torch.set_num_threads(options.threads)
    size = SIZES[options.size]
    updates, own_step, parameters = Updates(options), training.EarlyStoppingTrainer._step, 0

    def counted_step(self: Any, batch: Any) -> bool:
        nonlocal parameters
        updated = own_step(self, batch)
        parameters = sum(parameter.numel() for parameter in self.sockeye_model.parameters() if parameter.requires_grad)
        updates.add(int((batch.labels[constants.TARGET_LABEL_NAME] != constants.PAD_ID).sum()))
        return bool(updated)

    training.EarlyStoppingTrainer._step = counted_step
    with tempfile.TemporaryDirectory() as name:
        text, vocab = Path(name) / "text", Path(name) / "vocab.json"
        write_training_text(options.material, text)
        vocab.write_text(json.dumps(theirs(options)), encoding="utf-8")
        given = {
            "--source": text / "train.src",
            "--target": text / "train.tgt",
            "--validation-source": text / "valid.src",
            "--validation-target": text / "valid.tgt",
            "--source-vocab": vocab,
            "--target-vocab": vocab,
            "--output": Path(name) / "model",
            "--max-seq-len": MAX_LENGTH,
            "--batch-size": BATCH_TOKENS,
            "--num-layers": f"{size['encoder_layers']}:{size['decoder_layers']}",
            "--transformer-model-size": size["model_dim"],
            "--transformer-attention-heads": size["num_heads"],
            "--transformer-feed-forward-num-hidden": size["ffn_dim"],
            "--transformer-dropout-prepost": 0.1,
            "--transformer-dropout-attention": 0.0,
            "--transformer-dropout-act": 0.0,
            "--label-smoothing": 0.1,
            "--optimizer-betas": "0.9:0.98",
            "--initial-learning-rate": 0.001,
            "--learning-rate-warmup": 4000,
            "--checkpoint-interval": 1_000_000,
            "--max-updates": 1_000_000,
            "--seed": 1,
        }
        parser = arguments.ConfigArgumentParser(description="sockeye-train")
        arguments.add_train_cli_args(parser)
        words = [str(word) for pair in given.items() for word in pair]
        with contextlib.suppress(Enough):
            run(parser.parse_args([*words, "--shared-vocab", "--use-cpu", "--quiet"]))
    return {**updates.result, "parameters": parameters}


def make_model(size: dict[str, Any], vocab_size: int) -> Any:
    """Return a model for translation; its attention has biases."""
    import torch
    from sockeye import constants, data_io, encoder, model, transformer

    before, behind = PROCESSING[size["norm"]]
    embedding = encoder.EmbeddingConfig(vocab_size=vocab_size, num_embed=size["model_dim"], dropout=0.0)

    def stack(side: str) -> transformer.TransformerConfig:
        return transformer.TransformerConfig(
            model_size=size["model_dim"],
            attention_heads=size["num_heads"],
            feed_forward_num_hidden=size["ffn_dim"],
            act_type=constants.RELU,
            num_layers=size[f"{side}_layers"],
            dropout_attention=0.0,
            dropout_act=0.0,
            dropout_prepost=0.0,
            positional_embedding_type=constants.FIXED_POSITIONAL_EMBEDDING,
            preprocess_sequence=before,
            postprocess_sequence=behind,
            max_seq_len_source=MAX_POSITIONS,
            max_seq_len_target=MAX_POSITIONS,
            depth_key_value=size["model_dim"],
        )

    statistics = data_io.DataStatistics(
        **dict.fromkeys(("num_sents", "num_discarded", "num_tokens_source", "num_tokens_target"), 0),
        **dict.fromkeys(("num_unks_source", "num_unks_target"), 0),
        max_observed_len_source=MAX_POSITIONS,
        max_observed_len_target=MAX_POSITIONS,
        size_vocab_source=vocab_size,
        size_vocab_target=vocab_size,
        length_ratio_mean=1.0,
        length_ratio_std=0.5,
        buckets=[],
        num_sents_per_bucket=[],
        average_len_target_per_bucket=[],
    )
    config = model.ModelConfig(
        config_data=data_io.DataConfig(
            data_statistics=statistics,
            max_seq_len_source=MAX_POSITIONS,
            max_seq_len_target=MAX_POSITIONS,
            num_source_factors=1,
            num_target_factors=1,
        ),
        vocab_source_size=vocab_size,
        vocab_target_size=vocab_size,
        config_embed_source=embedding,
        config_embed_target=embedding,
        config_encoder=stack("encoder"),
        config_decoder=stack("decoder"),
    )
    made = model.SockeyeModel(config, inference_only=True)
    for module in made.modules():
        if isinstance(module, torch.nn.Linear) and module.bias is None:
            module.bias = torch.nn.Parameter(torch.zeros(module.out_features))
        if isinstance(module, torch.nn.LayerNorm):
            module.eps = NORM_EPSILON
    return made


def interleaved(keys_values: Any, num_heads: int) -> Any:
    """Return the rows of a projection to all keys and all values as the toolkit has them: head by head."""
    import torch

    keys, values = (part.unflatten(0, (num_heads, -1)) for part in keys_values.chunk(2))
    return torch.cat([keys, values], dim=1).flatten(0, 1)


def convert(weights: dict[str, Any], size: dict[str, Any], pieces: list[str]) -> dict[str, Any]:
    """Return the state, ready for translation, of a model of the toolkit with our weights."""
    import torch

    embedding = weights["output_weight"][order_of(ORDER, pieces)]
    state = {
        "embedding_source.embedding.weight": embedding,
        "embedding_target.embedding.weight": embedding,
        "output_layer.weight": embedding,
        "output_layer.bias": torch.zeros(embedding.size(0)),
    }
    # The norm of our block stands before it or behind it in theirs.
    norm = {"pre": "pre_{}.layer_norm", "post": "post_{}.layer_norm"}[size["norm"]]
    feed_forward = {"ffn.first": "ff.ff1", "ffn.second": "ff.ff2", "ffn_residual.norm": norm.format("ff")}
    names = {
        "encoder": {
            "attention.qkv": "self_attention.ff_in",
            "attention.out": "self_attention.ff_out",
            "attention_residual.norm": norm.format("self_attention"),
            **feed_forward,
        },
        "decoder": {
            "self_attention.qkv": "autoregr_layer.ff_in",
            "self_attention.out": "autoregr_layer.ff_out",
            "self_attention_residual.norm": norm.format("autoregr_layer"),
            "cross_attention.query": "enc_attention.ff_q",
            "cross_attention.key_value": "enc_attention.ff_kv",
            "cross_attention.out": "enc_attention.ff_out",
            "cross_attention_residual.norm": norm.format("enc_attention"),
            **feed_forward,
        },
    }
    for side in names:
        state[f"{side}.pos_embedding.weight"] = position_table(MAX_POSITIONS, size["model_dim"])
        for kind in ("weight", "bias"):
            if size["norm"] == "pre":
                state[f"{side}.final_process.layer_norm.{kind}"] = weights[f"{side}.norm.{kind}"]
            for layer in range(size[f"{side}_layers"]):
                prefix = f"{side}.layers.{layer}."
                for ours, theirs_name in names[side].items():
                    tensor = weights[f"{prefix}{ours}.{kind}"]
                    if ours.endswith("qkv"):
                        queries, keys_values = tensor.split([len(tensor) // 3, 2 * len(tensor) // 3])
                        tensor = torch.cat([queries, interleaved(keys_values, size["num_heads"])])
                    elif ours.endswith("key_value"):
                        tensor = interleaved(tensor, size["num_heads"])
                    state[f"{prefix}{theirs_name}.{kind}"] = tensor
    return state


def load(options: Namespace) -> Any:
    """Return a model of the toolkit with our weights, ready for translation."""
    size = read_model(options.model)["architecture"]
    pieces = read_vocab(options.material)
    model = make_model(size, len(pieces))
    state = convert(read_weights(options.model), size, pieces)
    missing, unknown = model.load_state_dict(state, strict=False)
    if missing or unknown:
        raise SystemExit(f"{options.model}: missing {missing}, not known to sockeye {unknown}")
    for module in model.modules():
        if hasattr(module, "kv_interleaved"):
            module.kv_interleaved = True
    return model.eval()


def decode(options: Namespace) -> Result:
    """Translate by its Translator as its command line sets it up."""
    import torch
    from sockeye import constants, inference

    torch.set_num_threads(options.threads)
    vocab = theirs(options)
    translator = inference.Translator(
        device=torch.device("cpu"),
        ensemble_mode="linear",
        scorer=inference.CandidateScorer(length_penalty_alpha=1.0, length_penalty_beta=0.0),
        batch_size=SENTENCES,
        beam_size=options.beam,
        beam_search_stop=constants.BEAM_SEARCH_STOP_ALL,
        models=[load(options)],
        source_vocabs=[vocab],
        target_vocabs=[vocab],
    )

    def translate(sentences: list[list[str]]) -> list[list[str]]:
        inputs = [inference.TranslatorInput(number, pieces) for number, pieces in enumerate(sentences)]
        return [output.translation.split() for output in translator.translate(inputs)]

    return timed_translation(translate, options)


if __name__ == "__main__":
    main("sockeye", train=train, decode=decode)
