"""Draw the proportion that each word gives to its sentence's domain: words across, layers up (Jiang et al., Fig. 7)."""

from __future__ import annotations

from typing import ClassVar, Literal

from mdnmt.exhibits.figures.proportion_heatmap import HeatmapSpec
from mdnmt.exhibits.registry import register


@register
class ProportionWordsSpec(HeatmapSpec):
    """The heat map of one sentence for the encoder and the sentence's own domain alone."""

    own_domain_alone: ClassVar = True
    kind: Literal["proportion_words"] = "proportion_words"
