"""The options of MTL, AdvL and PAdvL (Britz et al. 2017)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from mdnmt.config.architectures.architecture import Architecture


class MultitaskConfig(Architecture):
    """What the three rows add to a Transformer."""

    gradient: Literal["pass", "reverse", "half"] = Field(
        "pass",
        description="into the encoder: as it is (MTL), reversed (AdvL), or reversed for half of the features (PAdvL)",
    )
    aux_norm: Literal["text", "code"] = Field(
        "code", description="domain loss as the mean over sentences of the released code, or as their sum (text)"
    )


config_type = MultitaskConfig
