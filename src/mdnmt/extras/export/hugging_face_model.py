"""Write plain Transformers as Hugging Face models: Marian (post-norm) and Pegasus (pre-norm).

Both add a stored table of positions to scaled embeddings. M2M100, the other pre-norm class with sinusoids, does not
fit: it computes its own table, which begins one position later.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from torch import Tensor

from mdnmt import fsio
from mdnmt.extras.export.plain_transformer import PlainTransformer
from mdnmt.tasks.segmentation.vocabulary import SPECIALS, Vocab

NEVER = -1e9  # logit of a row that is not a target token
CLASSES = {"post": ("marian", "MarianMTModel"), "pre": ("pegasus", "PegasusForConditionalGeneration")}


def write_hugging_face(model: PlainTransformer, folder: Path) -> None:
    """Write config.json, generation_config.json, model.safetensors, and a tokenizer for the pieces of each language."""
    # Both classes have one table for both sides. If ours differ, the source pieces follow the target pieces in it.
    shared = model.source_tokens == model.target_tokens and torch.equal(model.source_embedding, model.target_embedding)
    size = len(model.target_tokens) if shared else len(model.target_tokens) + len(model.source_tokens)
    config = _config(model, size)
    fsio.write_json(folder / "config.json", config)
    fsio.write_json(
        folder / "generation_config.json",
        {
            "num_beams": 5,
            "length_penalty": 1.0,
            "early_stopping": True,
            "max_new_tokens": 200,
            "suppress_tokens": [Vocab.pad, Vocab.bos],
            **{key: value for key, value in config.items() if key.endswith("_token_id")},
        },
    )
    weights = _weights(model, shared, bool(config["tie_word_embeddings"]))
    safetensors.torch.save_file(
        {name: tensor.float().contiguous().clone() for name, tensor in weights.items()},
        folder / "model.safetensors",
        {"format": "pt"},
    )
    first = 0 if shared else len(model.target_tokens)
    _write_tokenizer(folder, model.source_tokens, first)
    _write_tokenizer(folder / "target_tokenizer", model.target_tokens, 0)


def usage(model: PlainTransformer) -> str:
    """Return the part of the model card that shows how to translate."""
    kind = CLASSES[model.config.norm][1]
    source, note = '" ".join(segmenter.encode(text))', ""
    if model.tags:
        tag = next(iter(model.tags.values()))
        source = f'"{tag} " + {source}' if model.tag_first else f'{source} + " {tag}"'
        note = f"The tag of the sentence's domain is one of `{'`, `'.join(model.tags.values())}`.\n"
    return f"""The class is `{kind}`; its tokenizers read and write BPE pieces that are separated by spaces.

```python
from segment import Segmenter
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

segmenter, model = Segmenter(), AutoModelForSeq2SeqLM.from_pretrained(".")
source, target = AutoTokenizer.from_pretrained("."), AutoTokenizer.from_pretrained("target_tokenizer")
text = "This is a test."
batch = source([{source}], return_tensors="pt", padding=True)
[found] = model.generate(**batch)
print(segmenter.decode(target.convert_ids_to_tokens(found)))
```
{note}"""


def _config(model: PlainTransformer, size: int) -> dict[str, Any]:
    config = model.config
    kind, name = CLASSES[config.norm]
    return {
        "architectures": [name],
        "model_type": kind,
        "torch_dtype": "float32",
        "vocab_size": size,
        "d_model": config.model_dim,
        "encoder_layers": config.encoder_layers,
        "decoder_layers": config.decoder_layers,
        "encoder_ffn_dim": config.ffn_dim,
        "decoder_ffn_dim": config.ffn_dim,
        "encoder_attention_heads": config.num_heads,
        "decoder_attention_heads": config.num_heads,
        "max_position_embeddings": model.positions.size(0),
        "activation_function": "relu",
        "scale_embedding": True,
        "dropout": config.dropout,
        "attention_dropout": config.attention_dropout,
        "activation_dropout": config.activation_dropout,
        "tie_word_embeddings": torch.equal(model.output_weight, model.target_embedding),
        "pad_token_id": Vocab.pad,
        "bos_token_id": Vocab.bos,
        "eos_token_id": Vocab.eos,
        "decoder_start_token_id": Vocab.bos,
        "forced_eos_token_id": None,
        **({"share_encoder_decoder_embeddings": True, "decoder_vocab_size": size} if kind == "marian" else {}),
    }


def _weights(model: PlainTransformer, shared: bool, tied: bool) -> dict[str, Tensor]:
    table, output, bias = model.target_embedding, model.output_weight, torch.zeros(1, len(model.target_tokens))
    if not shared:
        extra = model.source_embedding
        table = torch.cat([table, extra])
        output = torch.cat([output, torch.zeros_like(extra)])
        bias = torch.cat([bias, torch.full((1, extra.size(0)), NEVER)], dim=1)
    weights = {"model.shared.weight": table, "final_logits_bias": bias}
    if not tied:
        weights["lm_head.weight"] = output
    for side, attention in (("encoder", "attention"), ("decoder", "self_attention")):
        weights[f"model.{side}.embed_positions.weight"] = model.positions
        if model.config.norm == "pre":
            weights |= _renamed(model, f"{side}.norm", f"model.{side}.layer_norm")
        layers = model.config.encoder_layers if side == "encoder" else model.config.decoder_layers
        for number in range(layers):
            weights |= _layer(model, f"{side}.layers.{number}", attention)
    return weights


def _layer(model: PlainTransformer, ours: str, attention: str) -> dict[str, Tensor]:
    theirs = f"model.{ours}"
    projections = model.split_projection(f"{ours}.{attention}.qkv", ("q_proj", "k_proj", "v_proj"))
    weights = {f"{theirs}.self_attn.{name}": tensor for name, tensor in projections.items()}
    names = {
        f"{attention}.out": "self_attn.out_proj",
        f"{attention}_residual.norm": "self_attn_layer_norm",
        "ffn.first": "fc1",
        "ffn.second": "fc2",
        "ffn_residual.norm": "final_layer_norm",
    }
    if attention == "self_attention":
        projections = model.split_projection(f"{ours}.cross_attention.key_value", ("k_proj", "v_proj"))
        weights |= {f"{theirs}.encoder_attn.{name}": tensor for name, tensor in projections.items()}
        names["cross_attention.query"] = "encoder_attn.q_proj"
        names["cross_attention.out"] = "encoder_attn.out_proj"
        names["cross_attention_residual.norm"] = "encoder_attn_layer_norm"
    for name, other in names.items():
        weights |= _renamed(model, f"{ours}.{name}", f"{theirs}.{other}")
    return weights


def _renamed(model: PlainTransformer, ours: str, theirs: str) -> dict[str, Tensor]:
    return {f"{theirs}.{kind}": model.weights[f"{ours}.{kind}"] for kind in ("weight", "bias")}


def _write_tokenizer(folder: Path, tokens: list[str], first: int) -> None:
    """Write a tokenizer for pieces separated by spaces; it ends a sentence with </s>.

    Args:
        folder: where to write it.
        tokens: pieces in the order of their numbers.
        first: what is added to all numbers except that of <pad>.
    """
    # If there are two tables, the special pieces of the source have vectors of their own.
    number = {token: first + place for place, token in enumerate(tokens)}
    number[SPECIALS[Vocab.pad]] = Vocab.pad
    pad, _, end, unknown = SPECIALS
    ends = {"id": end, "ids": [number[end]], "tokens": [end]}
    special = [
        {"id": number[token], "content": token, "special": True, "normalized": False, "single_word": False,
         "lstrip": False, "rstrip": False}
        for token in SPECIALS
    ]  # fmt: skip
    fsio.write_json(
        folder / "tokenizer.json",
        {
            "version": "1.0",
            "truncation": None,
            "padding": None,
            "added_tokens": special,
            "normalizer": None,
            "pre_tokenizer": {"type": "WhitespaceSplit"},
            "post_processor": {
                "type": "TemplateProcessing",
                "single": [{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": end, "type_id": 0}}],
                "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": end, "type_id": 0}}],
                "special_tokens": {end: ends},
            },
            "decoder": None,
            "model": {"type": "WordLevel", "vocab": number, "unk_token": unknown},
        },
    )
    fsio.write_json(
        folder / "tokenizer_config.json",
        {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "clean_up_tokenization_spaces": False,
            "pad_token": pad,
            "eos_token": end,
            "unk_token": unknown,
            "model_input_names": ["input_ids", "attention_mask"],
        },
    )
