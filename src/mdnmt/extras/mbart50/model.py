"""mBART-50 from transformers behind the interface that the trainer expects."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from torch import Tensor, nn

from mdnmt.checkpoints.weights import load_model
from mdnmt.errors import DataError
from mdnmt.extras.mbart50.weight_files import CONFIG, files_of
from mdnmt.fsio import read_json
from mdnmt.models.batch import Batch
from mdnmt.models.context import DomainContext
from mdnmt.models.transformer import Output, TranslationModel


class Mbart(TranslationModel):
    """`MBartForConditionalGeneration`; ids at padded positions do not matter, because they are masked."""

    def __init__(self, net: Any) -> None:
        super().__init__()
        self.net = net

    @property
    def max_source_length(self) -> int:
        """Return the largest number of source ids, language code and </s> included."""
        return int(self.net.config.max_position_embeddings)

    @property
    def max_target_length(self) -> int:
        """Return the largest number of target ids, language code and </s> included."""
        return int(self.net.config.max_position_embeddings)

    def states(self, source_BS: Tensor, mask_BS: Tensor, target_BT: Tensor) -> Tensor:
        """Return the decoder's output [B, T, D], each token given the reference tokens before it."""
        # The decoder needs no padding mask: padding is on the right, and no real token attends to the right.
        found: Tensor = self.net.model(
            input_ids=source_BS, attention_mask=mask_BS.long(), decoder_input_ids=target_BT, use_cache=False
        ).last_hidden_state
        return found

    def forward(self, batch: Batch) -> Output:
        """Return the decoder's output for every real target token."""
        y_BTD = self.states(batch.source_BS, batch.source_mask_BS, batch.target_BT)
        y_ND = y_BTD.flatten(0, 1).index_select(0, batch.label_index_N)
        return Output(y_ND, self.net.lm_head.weight, DomainContext(domain_B=batch.domain_B))


def load_pretrained(folder: Path, **options: float) -> Mbart:
    """Return the model in a folder with the files of a transformers model, in float32 and on the CPU.

    Args:
        folder: with config.json and weights.
        options: of transformers' configuration, such as `dropout`, in place of those in config.json.

    Raises:
        DataError: it cannot be loaded, lacks a weight, or has a bias on the logits, which the trainer lacks.
    """
    from transformers import MBartForConditionalGeneration

    _, _, weights = files_of(folder)
    config = _config(folder, options)
    try:
        net, report = MBartForConditionalGeneration.from_pretrained(
            folder,
            config=config,
            dtype=torch.float32,
            local_files_only=True,
            use_safetensors=weights.suffix == ".safetensors",
            weights_only=True,
            output_loading_info=True,
        )
    except (OSError, RuntimeError, ValueError, SafetensorError) as error:
        raise DataError(f"{weights}: cannot be loaded ({str(error).strip().partition(chr(10))[0]})") from None
    if absent := sorted(report["missing_keys"]):
        raise DataError(f"{weights}: lacks {absent[0]}; these are not the weights of an mBART")
    return _checked(Mbart(net), weights)


def load_trained(folder: Path, weights: Path, sha256: str) -> Mbart:
    """Return the model of a fine-tuned run, from config.json in `folder` and a weights file with this `sha256`.

    Raises:
        DataError: they do not fit together.
        InvalidCheckpoint: the weights are damaged, or belong to another run.
    """
    model = empty(folder)
    try:
        model.load_state_dict(load_model(weights, sha256), assign=True)
    except RuntimeError as error:
        raise DataError(f"{weights}: does not fit {folder / CONFIG} ({str(error).partition(chr(10))[0]})") from None
    model.net.tie_weights()
    return _checked(model, weights)


def empty(folder: Path) -> Mbart:
    """Return the model that a config.json describes, without weights (on the `meta` device)."""
    from transformers import MBartForConditionalGeneration

    with torch.device("meta"):
        return Mbart(MBartForConditionalGeneration(_config(folder, {})))


def count_parameters(model: nn.Module) -> int:
    """Return the number of parameters; tied ones count once."""
    return sum(parameter.numel() for parameter in model.parameters())


def _config(folder: Path, options: dict[str, float]) -> Any:
    from transformers import MBartConfig

    path = folder / CONFIG
    try:
        values = read_json(path)
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be read ({error})") from None
    kind = values.get("model_type") if isinstance(values, dict) else None
    if kind != "mbart":
        raise DataError(f"{path}: found model_type {kind!r}, expected 'mbart'")
    return MBartConfig.from_dict({**values, **options})


def _checked(model: Mbart, weights: Path) -> Mbart:
    if bool(model.net.final_logits_bias.any()):
        raise DataError(
            f"{weights}: final_logits_bias is not zero, as it is in every released mBART; use those weights"
        )
    return model
