"""The options of DomainTag (Tars and Fishel 2018)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from mdnmt.config.architectures.architecture import Architecture


class DomainTagConfig(Architecture):
    """What DomainTag adds to a Transformer."""

    tag_position: Literal["first", "last"] = Field(
        "first", description="before the source sentence (Tars and Fishel), or behind its last word"
    )


config_type = DomainTagConfig
