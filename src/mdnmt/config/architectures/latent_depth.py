"""The options of LDSPSLV (after Huang et al. 2024)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from mdnmt.config.architectures.architecture import Architecture


class LatentDepthConfig(Architecture):
    """What LDSPSLV adds to a Transformer."""

    mode: Literal["depth", "shared_or_private"] = Field(
        "depth", description="a domain uses a sub-layer or skips it; or uses the shared copy of it or one of its own"
    )
    encoder_depth_factor: int = Field(
        2, gt=0, le=20, description="that many times encoder_layers are there to choose from"
    )
    decoder_depth_factor: int = Field(2, gt=0, le=20, description="likewise for decoder_layers")
    initial_logit: float = Field(1.0, description="mean of the first logits; above 0 most sub-layers start in use")
    temperature_start: float = Field(5.0, gt=0, description="tau of the Gumbel-Softmax, falling in a line")
    temperature_end: float = Field(0.5, gt=0, description="tau at the last update")
    soft_share: float = Field(0.2, ge=0, le=1, description="share of the updates with soft choices, hard ones after it")
    anneal_share: float = Field(0.2, gt=0, le=1, description="share of the updates in which a loss gets its weight")
    prior_weight: float = Field(0.1, ge=0, description="of the KL from a use of one half, from the end of soft_share")
    sharing_weight: float = Field(0.1, ge=0, description="of the disagreement between domains, after the prior's")
    count_weight: float = Field(0.1, ge=0, description="of the number of sub-layers in use, along with sharing")


config_type = LatentDepthConfig
