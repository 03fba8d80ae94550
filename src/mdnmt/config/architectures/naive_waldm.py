"""The options of WALDM with the mistakes of a re-implementation (Phan 2022)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from mdnmt.config.architectures.architecture import Architecture


class NaiveWaldmConfig(Architecture):
    """Options of the re-implementation."""

    mixed_sides: Literal["encoder", "both"] = Field("both", description='the rows "Encoder" and "E/DC"')
    proportion_smoothing: float = Field(0.05, ge=0, lt=1, description="eps of D(x)")
    initialisation: Literal["default", "xavier"] = Field(
        "default", description="first values: torch's own, or Xavier for all that is found; hidden maps never are"
    )


config_type = NaiveWaldmConfig
