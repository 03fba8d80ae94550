"""Checkpoints in fairseq's layout with random weights, and the dictionaries and codes that go with them."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

DIM, FFN, HEADS = 12, 20, 3
SOURCE, TARGET = ["the", "ba@@", "nk", "court", "rule"], ["la", "ba@@", "nque", "cour", "règle", "de", "loi"]
JOINT = ["the", "la", "ba@@", "nk", "nque", "court", "rule"]


def options(**changed: Any) -> dict[str, Any]:
    sides = {"embed_dim": DIM, "ffn_embed_dim": FFN, "attention_heads": HEADS, "normalize_before": False}
    both = {f"{side}_{name}": value for side in ("encoder", "decoder") for name, value in sides.items()}
    plain = {"arch": "transformer", "task": "translation", "source_lang": "en", "target_lang": "fr"}
    rest = {"encoder_layers": 2, "decoder_layers": 3, "encoder_learned_pos": False, "adaptive_softmax_cutoff": None}
    return {**both, **plain, **rest, "activation_fn": "relu", "seed": 1, **changed}


def weights(
    given: dict[str, Any], source: int, target: int, *, old: bool = False, mixed: tuple[str, ...] = (), domains: int = 0
) -> dict[str, Tensor]:
    """Return random parameters, biases and norms too, by the names of an old or a new version of fairseq."""
    torch.manual_seed(7)
    found: dict[str, Tensor] = {}

    def add(name: str, *size: int) -> None:
        found[name] = 0.5 * torch.randn(*size)

    def linear(name: str, out: int, inner: int) -> None:
        add(f"{name}.weight", out, inner)
        add(f"{name}.bias", out)

    def norm(name: str) -> None:
        found[f"{name}.weight"], found[f"{name}.bias"] = 1 + 0.3 * torch.randn(DIM), 0.3 * torch.randn(DIM)

    add("encoder.embed_tokens.weight", source, DIM)
    add("decoder.embed_tokens.weight", target, DIM)
    if given.get("share_all_embeddings"):
        found["decoder.embed_tokens.weight"] = found["encoder.embed_tokens.weight"]
    shared = given.get("share_all_embeddings") or given.get("share_decoder_input_output_embed")
    if old and not shared:
        add("decoder.embed_out", target, DIM)
    elif not old:
        add("decoder.output_projection.weight", target, DIM)
        if shared:
            found["decoder.output_projection.weight"] = found["decoder.embed_tokens.weight"]
    found["encoder.layers.0.fc1_bias"] = torch.ones(FFN)  # a copy, of another value as in a training that went on
    for side in ("encoder", "decoder"):
        k = domains if side in mixed else 0
        found[f"{side}.version"] = torch.tensor([3.0])
        found[f"{side}.embed_positions._float_tensor"] = torch.zeros(1)
        for number in range(given[f"{side}_layers"]):
            base = f"{side}.layers.{number}"
            attentions = ["self_attn"] if side == "encoder" else ["self_attn", "encoder_attn"]
            for name in attentions:
                for prefix in [f"submodel.{number}." for number in range(k)] or ([""] if old else []):
                    add(f"{base}.{name}.{prefix}in_proj_weight", 3 * DIM, DIM)
                    add(f"{base}.{name}.{prefix}in_proj_bias", 3 * DIM)
                if k:  # names of the released code
                    add(f"{base}.{name}.out_proj_weight", DIM, DIM)
                    add(f"{base}.{name}.out_proj_bias", DIM)
                else:
                    for part in [] if old else ["q_proj", "k_proj", "v_proj"]:
                        linear(f"{base}.{name}.{part}", DIM, DIM)
                    linear(f"{base}.{name}.out_proj", DIM, DIM)
            for place, name in enumerate([*attentions, "final"]):
                numbered = old and side == "encoder"
                norm(f"{base}.layer_norms.{place}" if numbered else f"{base}.{name}_layer_norm")
            linear(f"{base}.fc1", FFN * max(k, 1), DIM)
            linear(f"{base}.fc2", DIM * max(k, 1), FFN)
            if k:
                linear(f"{side}.layers_cls.{number}.main.0", 1 if k == 2 else k, DIM)
        if given[f"{side}_normalize_before"]:
            norm(f"{side}.layer_norm")
        if k and side == "decoder":
            linear("decoder.encoder_out_cls.main.0", 1 if k == 2 else k, DIM)
    return found


def write(folder: Path, given: dict[str, Any], model: dict[str, Tensor], *, zipped: bool = True, **more: Any) -> Path:
    """Write checkpoint.pt, the dictionaries and codes; return the checkpoint."""
    folder.mkdir(parents=True, exist_ok=True)
    joint = bool(given.get("share_all_embeddings"))
    for lang, pieces in (("en", JOINT if joint else SOURCE), ("fr", JOINT if joint else TARGET)):
        lines = "".join(f"{piece} {9 - number}\n" for number, piece in enumerate(pieces))
        (folder / f"dict.{lang}.txt").write_text(lines, encoding="utf-8")
    (folder / "codes").write_text("#version: 0.2\nb a\nn k</w>\nt h\nth e</w>\n", encoding="utf-8")
    state = {"args": argparse.Namespace(**given), "model": model, "optimizer_history": [{"num_updates": 40}], **more}
    torch.save(state, folder / "checkpoint.pt", _use_new_zipfile_serialization=zipped)
    return folder / "checkpoint.pt"
