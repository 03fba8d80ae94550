"""The options of adapters (Bapna and Firat 2019)."""

from __future__ import annotations

from pydantic import Field

from mdnmt.config.architectures.architecture import Architecture


class AdaptersConfig(Architecture):
    """What adapters add to a Transformer."""

    bottleneck_dim: int = Field(64, gt=0, le=16_384, description="width inside the adapter of each domain and layer")


config_type = AdaptersConfig
