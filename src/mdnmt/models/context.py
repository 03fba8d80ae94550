"""What blocks tell each other and the losses about domains, for one pass over one batch."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from torch import Tensor

Side = Literal["encoder", "memory", "decoder"]


@dataclass
class DomainContext:
    """Gold labels where a method may see them, and the proportions that blocks leave for losses and figures.

    Attributes:
        domain_B: gold domain of each sentence, or None where it is not known (translation of new text).
        logits: unsmoothed domain logits, one [B, T, K] a layer; the side says whether T runs over source words
            (`encoder`, and `memory` for the encoder's output as the decoder sees it) or target words (`decoder`).
    """

    domain_B: Tensor | None = None
    logits: dict[Side, list[Tensor]] = field(default_factory=lambda: {"encoder": [], "memory": [], "decoder": []})

    def record(self, side: Side, logits_BTK: Tensor) -> None:
        """Keep one layer's domain logits."""
        self.logits[side].append(logits_BTK)
