"""The equivalence margin: how far our numbers may lie from the published ones and still agree."""

from __future__ import annotations

from pydantic import Field

from mdnmt.config.base import Frozen


class Margin(Frozen):
    """Differences from a published number that do not matter (docs/how-we-judge.md)."""

    points: float = Field(0.5, gt=0, lt=100, description="of BLEU, chrF, COMET and other scores, in points")
