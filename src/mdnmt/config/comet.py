"""How COMET scores are computed: part of their identity, together with the files of the model."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from mdnmt.config.base import Frozen
from mdnmt.config.corpus_source import Sha256


class CometConfig(Frozen):
    """A COMET model (Rei et al. 2020; 2022) and how exactly it computes."""

    name: str = Field(
        "wmt22-comet-da", pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", description="the model's folder in resources/comet"
    )
    batch_size: int = Field(16, gt=0, description="sentences at a time; changes no score but float rounding")
    precision: Literal["float32", "float16"] = Field(
        "float16", description="float16: as the command comet-score computes; float32 is faster on a CPU"
    )
    sha256: Sha256 | None = Field(
        None, description="of the model's files; null: of those that are there when the study is planned"
    )
