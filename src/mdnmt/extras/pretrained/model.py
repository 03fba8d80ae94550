"""A model of transformers behind the interface that the trainer expects: loaded whole, or with LoRA."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from torch import Tensor, nn

from mdnmt.checkpoints.weights import load_model
from mdnmt.errors import ConfigError, DataError
from mdnmt.extras.pretrained.config import PretrainedConfig
from mdnmt.extras.pretrained.weights import CONFIG, files_of
from mdnmt.models.batch import Batch
from mdnmt.models.context import DomainContext
from mdnmt.models.transformer import Output, TranslationModel

# mBART-50; M2M100 and NLLB; Marian. Their decoders begin with one id (`decoder_start_token_id`), and the first three
# predict the code of the target language after it. Others may begin otherwise.
MODEL_TYPES = ("mbart", "m2m_100", "marian")


class PretrainedModel(TranslationModel):
    """An encoder-decoder of transformers; ids at padded positions do not matter, because they are masked."""

    def __init__(self, net: Any, *, saves_trained_only: bool = False) -> None:
        """Wrap a model; with `saves_trained_only`, its state contains only parameters with a gradient."""
        super().__init__()
        self.net = net
        if net.config.model_type == "marian":  # sines, which transformers keeps as a parameter and never trains
            net.model.encoder.embed_positions.requires_grad_(False)
            net.model.decoder.embed_positions.requires_grad_(False)
        self._saved = {name for name, one in self.named_parameters() if one.requires_grad} if saves_trained_only else {}

    @property
    def max_source_length(self) -> int:
        """Return the largest number of ids of either side, language code and </s> included."""
        return int(self.net.config.max_position_embeddings)

    max_target_length = max_source_length

    @cached_property
    def _bias(self) -> Tensor | None:
        """Return the bias on the logits [1, V]; None if it is 0, as in all models but Marian's."""
        bias: Tensor | None = getattr(self.net, "final_logits_bias", None)
        return bias if bias is not None and bool(bias.any()) else None

    @property
    def output_weight(self) -> Tensor:
        """Return the output layer [V, D]; with a bias [V, D + 1], and then states end in 1."""
        weight_VD: Tensor = self.net.lm_head.weight
        return weight_VD if self._bias is None else torch.cat([weight_VD, self._bias.to(weight_VD.dtype).t()], 1)

    def states(self, source_BS: Tensor, mask_BS: Tensor, target_BT: Tensor) -> Tensor:
        """Return the decoder's output [B, T, D], each token given the reference tokens before it."""
        # The decoder needs no padding mask: padding is on the right, and no real token attends to the right.
        found: Tensor = self.net.model(
            input_ids=source_BS, attention_mask=mask_BS.long(), decoder_input_ids=target_BT, use_cache=False
        ).last_hidden_state
        return found if self._bias is None else nn.functional.pad(found, (0, 1), value=1.0)

    def forward(self, batch: Batch) -> Output:
        """Return the decoder's output for every real target token."""
        mask_BS = batch.source_mask_BS
        if self.net.config.eos_token_id == 0:
            # Batches take id 0 for padding, but in Marian it is </s>: what follows a real token is real.
            mask_BS = mask_BS | nn.functional.pad(mask_BS, (1, -1), value=True)
        y_BTD = self.states(batch.source_BS, mask_BS, batch.target_BT)
        y_ND = y_BTD.flatten(0, 1).index_select(0, batch.label_index_N)
        return Output(y_ND, self.output_weight, DomainContext(domain_B=batch.domain_B))

    def state_dict(self, *args: Any, **options: Any) -> dict[str, Any]:  # type: ignore[override]
        """Return what a run saves: everything, or with LoRA only its additions."""
        state: dict[str, Any] = super().state_dict(*args, **options)
        return {name: value for name, value in state.items() if name in self._saved} if self._saved else state

    def load_state_dict(self, state_dict: Any, strict: bool = True, assign: bool = False) -> Any:
        """Load what `state_dict` returned."""
        if self._saved and self._saved != state_dict.keys():
            raise RuntimeError(f"expected the additions of LoRA, found {min(self._saved ^ state_dict.keys())} or not")
        return super().load_state_dict(state_dict, strict and not self._saved, assign)


def load_pretrained(folder: Path, config: PretrainedConfig) -> PretrainedModel:
    """Return the model in a folder with the files of a transformers model, in float32 and on the CPU.

    With `use: lora` its weights are frozen and have additions, which change nothing before they are trained.

    Raises:
        ConfigError: no module has a name in `lora_modules`.
        DataError: it cannot be loaded, or lacks a weight.
    """
    from transformers import AutoModelForSeq2SeqLM

    weights = files_of(folder)[-1]
    try:
        net, report = AutoModelForSeq2SeqLM.from_pretrained(
            folder,
            config=_config(folder, config),
            dtype=torch.float32,
            local_files_only=True,
            use_safetensors="safetensors" in weights.name,
            weights_only=True,
            output_loading_info=True,
        )
    except (OSError, RuntimeError, ValueError, SafetensorError) as error:
        raise DataError(f"{weights}: cannot be loaded ({str(error).strip().partition(chr(10))[0]})") from None
    if absent := sorted(report["missing_keys"]):
        raise DataError(f"{weights}: lacks {absent[0]}; these are not the weights of a {net.config.model_type}")
    return _with_lora(net, config) if config.use == "lora" else PretrainedModel(net)


def _with_lora(net: Any, config: PretrainedConfig) -> PretrainedModel:
    """Freeze a model and give it trainable additions of low rank (Hu et al. 2022)."""
    from peft import LoraConfig, inject_adapter_in_model

    lora = LoraConfig(
        r=config.lora_rank,
        lora_alpha=config.lora_alpha,  # type: ignore[arg-type]  # peft only divides it
        lora_dropout=config.lora_dropout,
        target_modules=list(config.lora_modules),
    )
    try:
        inject_adapter_in_model(lora, net)
    except ValueError as error:
        raise ConfigError(f"lora_modules: {' '.join(str(error).split())[:200]}") from None
    return PretrainedModel(net, saves_trained_only=True)


def load_trained(folder: Path, config: PretrainedConfig, weights: Path, sha256: str) -> PretrainedModel:
    """Return the model of a trained run.

    Args:
        folder: with config.json; with LoRA, with all the pretrained files.
        config: the run's options.
        weights: its weights file.
        sha256: of that file.

    Raises:
        DataError: they do not fit together.
        InvalidCheckpoint: the weights are damaged, or belong to another run.
    """
    model = load_pretrained(folder, config) if config.use == "lora" else without_weights(folder, config)
    try:
        model.load_state_dict(load_model(weights, sha256))
    except RuntimeError as error:
        raise DataError(f"{weights}: does not fit {folder / CONFIG} ({str(error).partition(chr(10))[0]})") from None
    return model


def without_weights(folder: Path, config: PretrainedConfig) -> PretrainedModel:
    """Return the model that a config.json describes; its weights are arbitrary."""
    from transformers import AutoModelForSeq2SeqLM
    from transformers.modeling_utils import no_init_weights

    with no_init_weights():
        net = AutoModelForSeq2SeqLM.from_config(_config(folder, config), dtype=torch.float32)  # type: ignore[no-untyped-call]
    net.tie_weights()
    return PretrainedModel(net)


def count_parameters(folder: Path, config: PretrainedConfig) -> int:
    """Return the number of parameters of a model, without allocating them; tied ones count once."""
    with torch.device("meta"):
        return sum(parameter.numel() for parameter in without_weights(folder, config).parameters())


def _config(folder: Path, config: PretrainedConfig) -> Any:
    from transformers import AutoConfig

    path = folder / CONFIG
    try:
        found = AutoConfig.from_pretrained(
            folder, local_files_only=True, dropout=config.dropout, attention_dropout=config.attention_dropout
        )
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be read ({' '.join(str(error).split())[:200]})") from None
    if found.model_type not in MODEL_TYPES:
        raise DataError(f"{path}: found model_type {found.model_type!r}, expected one of {', '.join(MODEL_TYPES)}")
    return found
