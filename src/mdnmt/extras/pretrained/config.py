"""The options of a pretrained model."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from mdnmt.config.base import Frozen
from mdnmt.config.corpus_source import Sha256
from mdnmt.config.loader import validate_model


class PretrainedConfig(Frozen):
    """Which weights to use, and how to train them; all sizes come with the weights."""

    use: Literal["fine-tune", "lora", "zero-shot"] = Field(
        "fine-tune", description="fine-tune: all weights; lora: low-rank additions to frozen weights; zero-shot: none"
    )
    weights: str = Field(
        "facebook/mbart-large-50", pattern=r"^[\w.-]+/[\w.-]+$", description="the model's name on huggingface.co"
    )
    revision: str | None = Field(
        None,
        pattern=r"^[0-9a-f]{40}$",
        description="the commit to download; null: the files that you put into resources/pretrained",
    )
    sha256: Sha256 | None = Field(
        None, description="without a revision: of your files; null: of those that are there when the study is planned"
    )
    codes: dict[str, str] = Field(
        {}, description="language of a task -> its code in the tokenizer, where several fit or none is found"
    )
    pairs_per_domain: int = Field(
        100_000, ge=0, description="training pairs of each domain, spread evenly over its text; 0: all"
    )
    dropout: float = Field(0.3, ge=0, lt=1)
    attention_dropout: float = Field(0.1, ge=0, lt=1)
    label_smoothing: float = Field(0.2, ge=0, lt=1)
    lora_rank: int = Field(16, ge=1)
    lora_alpha: float = Field(32.0, gt=0, description="the additions are multiplied by lora_alpha / lora_rank")
    lora_dropout: float = Field(0.05, ge=0, lt=1)
    lora_modules: tuple[str, ...] = Field(
        ("q_proj", "v_proj"), min_length=1, description="projections that get an addition, in every attention or layer"
    )


def validate(options: dict[str, Any], *, where: str) -> PretrainedConfig:
    """Return the validated options; `where` names the file in errors.

    Raises:
        ConfigError: an option is unknown or has an invalid value.
    """
    return validate_model(options, PretrainedConfig, f"{where}: architecture")
