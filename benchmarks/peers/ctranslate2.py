"""CTranslate2 as a contestant: it translates only, with our post-norm or pre-norm weights; see common.py.

--precision: float32 (auto), bfloat16 or int8. Its environment has no torch, so weights are read as arrays.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from typing import Any

from common import LONGEST, Result, main, read_model, read_vocab, timed_translation

BATCH_SENTENCES = 64


def read_arrays(file: Any) -> dict[str, Any]:
    """Return the arrays of model.safetensors: a header in JSON, then 32-bit floats; tied ones under one name only."""
    import numpy as np

    data = file.read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:start])
    header.pop("__metadata__", None)
    arrays = {}
    for name, entry in header.items():
        if entry["dtype"] != "F32":
            raise SystemExit(f"{file}: {name} is {entry['dtype']}, expected F32")
        first, end = (start + offset for offset in entry["data_offsets"])
        arrays[name] = np.frombuffer(data[first:end], dtype=np.float32).reshape(entry["shape"]).copy()
    return arrays


def make_spec(options: argparse.Namespace) -> Any:
    """Return CTranslate2's form of our model."""
    import numpy as np
    from ctranslate2.specs import TransformerSpec

    described, arrays = read_model(options.model), read_arrays(options.model / "model.safetensors")
    architecture = described["architecture"]
    spec = TransformerSpec.from_config(
        (architecture["encoder_layers"], architecture["decoder_layers"]),
        architecture["num_heads"],
        pre_norm=architecture["norm"] == "pre",
    )
    embedding = next(arrays[name] for name in ("output_weight", "source_embedding.weight") if name in arrays)

    def put(spec: Any, name: str, kinds: tuple[str, str] = ("weight", "bias")) -> None:
        for kind, ours in zip(kinds, ("weight", "bias")):  # noqa: B905
            setattr(spec, kind, arrays[f"{name}.{ours}"])

    def put_norm(spec: Any, name: str) -> None:
        put(spec, name, ("gamma", "beta"))

    half = architecture["model_dim"] // 2
    angle = np.arange(1024)[:, None] * np.exp(np.arange(half) * (-np.log(10000.0) / (half - 1)))
    positions = np.concatenate([np.sin(angle), np.cos(angle)], axis=1).astype(np.float32)
    for side in (spec.encoder, spec.decoder):
        side.position_encodings.encodings = positions
    spec.encoder.embeddings[0].weight = spec.decoder.embeddings.weight = embedding
    spec.decoder.projection.weight = embedding
    for side, name in ((spec.encoder, "encoder"), (spec.decoder, "decoder")):
        if architecture["norm"] == "pre":
            put_norm(side.layer_norm, f"{name}.norm")
        own = "attention" if name == "encoder" else "self_attention"
        for number, layer in enumerate(side.layer):
            place = f"{name}.layers.{number}"
            put(layer.self_attention.linear[0], f"{place}.{own}.qkv")
            put(layer.self_attention.linear[1], f"{place}.{own}.out")
            put_norm(layer.self_attention.layer_norm, f"{place}.{own}_residual.norm")
            if name == "decoder":
                for linear, part in zip(layer.attention.linear, ("query", "key_value", "out")):  # noqa: B905
                    put(linear, f"{place}.cross_attention.{part}")
                put_norm(layer.attention.layer_norm, f"{place}.cross_attention_residual.norm")
            put(layer.ffn.linear_0, f"{place}.ffn.first")
            put(layer.ffn.linear_1, f"{place}.ffn.second")
            put_norm(layer.ffn.layer_norm, f"{place}.ffn_residual.norm")
    vocab = read_vocab(options.material)
    spec.register_source_vocabulary(vocab)
    spec.register_target_vocabulary(vocab)
    spec.config.decoder_start_token = "<s>"
    spec.config.add_source_eos = True
    return spec


def decode(options: argparse.Namespace) -> Result:
    """Translate by its batched beam search."""
    import ctranslate2

    precision = "float32" if options.precision == "auto" else options.precision
    with tempfile.TemporaryDirectory() as folder:
        spec = make_spec(options)
        spec.validate()
        spec.optimize(quantization=precision)
        spec.save(folder)
        translator = ctranslate2.Translator(
            folder, device=options.device, compute_type=precision, inter_threads=1, intra_threads=options.threads
        )

    def translate(sentences: list[list[str]]) -> list[list[str]]:
        found = translator.translate_batch(
            sentences, beam_size=options.beam, max_batch_size=BATCH_SENTENCES, max_decoding_length=LONGEST
        )
        return [best.hypotheses[0] for best in found]

    return {**timed_translation(translate, options), "precision": precision}


if __name__ == "__main__":
    main("ctranslate2", decode=decode)
