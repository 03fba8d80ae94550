"""The options of the plain Transformer (Vaswani et al. 2017)."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from mdnmt.config.architectures.architecture import Architecture


class TransformerConfig(Architecture):
    """The options of all methods, and one for a control."""

    younger_options: ClassVar[frozenset[str]] = Architecture.younger_options | {"encoder_initial_scale"}

    encoder_initial_scale: float = Field(
        1.0,
        gt=0,
        description="factor on the initial weights of the encoder's projections; a mean of k independent ones has "
        "1 / sqrt(k)",
    )


config_type = TransformerConfig
