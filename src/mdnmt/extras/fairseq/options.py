"""Translate fairseq's options to ours, and refuse models that mdnmt does not support."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mdnmt.config.architectures.architecture import Architecture
from mdnmt.config.architectures.transformer import TransformerConfig
from mdnmt.config.architectures.waldm import WaldmConfig
from mdnmt.config.loader import validate_model
from mdnmt.errors import ConfigError

# In fairseq, positions begin after the number of the padding token, which is 1.
FIRST_POSITION = 2
TASKS = ("translation", "translation_da")
# Option of fairseq -> the only value for which its Transformer computes what ours does; it is also the default.
ONLY: dict[str, Any] = {
    "activation_fn": "relu",
    "encoder_learned_pos": False,
    "decoder_learned_pos": False,
    "no_token_positional_embeddings": False,
    "no_scale_embedding": False,
    "layernorm_embedding": False,
    "adaptive_input": False,
    "adaptive_softmax_cutoff": None,
    "no_decoder_final_norm": False,
    "no_cross_attention": False,
    "cross_self_attention": False,
    "encoder_layers_to_keep": None,
    "decoder_layers_to_keep": None,
    "quant_noise_scalar": 0,
    "merge_src_tgt_embed": False,
    "prepend_bos": False,
    "bayesdeocderonly": False,  # as the released code spells it
}
_BOTH_SIDES = {
    "model_dim": "embed_dim",
    "ffn_dim": "ffn_embed_dim",
    "num_heads": "attention_heads",
    "norm": "normalize_before",
}
# fairseq's names for the gradient links of training -> ours.
_LINKS = {"detach": "detach", "none": "pass", "adv": "reverse", "partial_adv": "half"}


@dataclass(frozen=True)
class FairseqModel:
    """The description of a fairseq model from which mdnmt builds it.

    Attributes:
        builder: a module of mdnmt.methods, `transformer` or `waldm`.
        architecture: the builder's options.
        num_domains: number of domains of the mixed projections; None for a plain Transformer.
        mixed_sides: the sides with mixed projections, `encoder` and `decoder`.
    """

    builder: str
    architecture: Architecture
    num_domains: int | None = None
    mixed_sides: tuple[str, ...] = ()


def read_options(options: Mapping[str, Any], path: Path) -> FairseqModel:
    """Return the model that fairseq's options describe.

    Raises:
        ConfigError: an option has an unsupported value, or a required option is missing.
    """
    if (task := options.get("task")) not in TASKS:
        raise ConfigError(f"{path}: its task is {task!r}; only {' and '.join(TASKS)} are supported")
    for name, wanted in ONLY.items():
        if (value := options.get(name, wanted)) != wanted and not (wanted in (None, False) and not value):
            raise ConfigError(f"{path}: its option {name} is {value!r}; only {wanted!r} is supported")
    given: dict[str, Any] = {}
    for ours, theirs in _BOTH_SIDES.items():
        encoder, decoder = (_needed(options, f"{side}_{theirs}", path) for side in ("encoder", "decoder"))
        if encoder != decoder:
            raise ConfigError(
                f"{path}: encoder_{theirs} is {encoder!r} and decoder_{theirs} {decoder!r}; only equal values "
                "are supported"
            )
        given[ours] = encoder
    for theirs in ("decoder_input_dim", "decoder_output_dim"):
        if options.get(theirs) not in (None, given["model_dim"]):
            raise ConfigError(
                f"{path}: its option {theirs} is {options[theirs]!r}; only the width of the layers is supported"
            )
    given |= {
        "norm": "pre" if given["norm"] else "post",
        "encoder_layers": _needed(options, "encoder_layers", path),
        "decoder_layers": _needed(options, "decoder_layers", path),
        "max_positions": max(_number(options, f"max_{side}_positions", 1024) for side in ("source", "target")),
        "first_position": FIRST_POSITION,
        "dropout": options.get("dropout", 0.1),
        "attention_dropout": options.get("attention_dropout", 0.0),
        "activation_dropout": options.get("activation_dropout", options.get("relu_dropout", 0.0)),
        "label_smoothing": options.get("label_smoothing", 0.0),
    }
    if options.get("damethod") != "bayesian":
        return FairseqModel("transformer", validate_model(given, TransformerConfig, str(path)))
    encoder_only = bool(options.get("bayesenocderonly"))
    given |= {
        "mixed_sides": "encoder" if encoder_only else "both",
        "proportion_smoothing": options.get("bayesmooth", 0.05),
        "input_link": _LINKS.get(str(options.get("bayesprob_linkinput", "detach")), "detach"),
        "mix_out_projection": False,
        "proportion_loss_on_logits": True,
        "aux_norm": "code",
        "clip_proportions_apart": False,
    }
    num_domains = _number(options, "domain_nums", 0)
    if num_domains < 2:
        raise ConfigError(f"{path}: its option domain_nums is {options.get('domain_nums')!r}, expected 2 or more")
    sides = ("encoder",) if encoder_only else ("encoder", "decoder")
    return FairseqModel("waldm", validate_model(given, WaldmConfig, str(path)), num_domains, sides)


def _needed(options: Mapping[str, Any], name: str, path: Path) -> Any:
    if name not in options:
        raise ConfigError(f"{path}: has no option {name}; expected a fairseq Transformer")
    return options[name]


def _number(options: Mapping[str, Any], name: str, default: int) -> int:
    # fairseq stores some numeric options as text.
    try:
        return int(options.get(name) or default)
    except (TypeError, ValueError):
        return default
