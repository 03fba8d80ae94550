"""The options of WDC and WL (Zeng et al. 2018)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from mdnmt.config.architectures.architecture import Architecture


class WordContextConfig(Architecture):
    """Options of WDC and WL; either can be used alone."""

    word_contexts: bool = Field(True, description="WDC: domain-specific and shared encoder states through gates")
    feature_dim: int = Field(
        300, gt=0, le=16_384, description="width of the sentence vectors that open the gates (Zeng et al.)"
    )
    adversarial_weight: float = Field(0.1, ge=0, description="lambda: of the reversed gradient in the shared branch")
    weighted_loss: Literal["none", "aligned", "misaligned"] = Field(
        "none",
        description="WL: word j counts 1 + alpha_j; misaligned: alpha on the words the released code gives it to",
    )
    aux_norm: Literal["text", "code"] = Field(
        "text", description="domain losses as sums over sentences, or as the code's mean"
    )


config_type = WordContextConfig
