"""The domain context: what blocks tell each other and the losses about domains, during one pass over a batch."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

from torch import Tensor

Side = Literal["encoder", "memory", "decoder"]


@dataclass
class DomainContext:
    """Domain labels, where a method may see them, and what blocks record for each other, for losses and for figures.

    Attributes:
        domain_B: domain label of each sentence, gold, wrong or predicted; None if there is none (new text).
        proportion_BTK: domain proportion of each token, in a layer whose projections share one.
        source_mask_BS: True at real source tokens, while the encoder runs.
        use_BN: how much each sentence uses each of N numbered blocks or domain vectors, if it is one choice a sentence.
        unused: numbers of the blocks that no sentence uses; they are not computed.
        domain_vector_B1D: the trained vector of each sentence's domain, once a layer has looked it up.
        records: what blocks recorded, one tensor per layer, by kind and side. The side says whether T runs over source
            tokens (`encoder`, and `memory` for the encoder's output as the decoder sees it) or target tokens
            (`decoder`).
    """

    domain_B: Tensor | None = None
    proportion_BTK: Tensor | None = None
    source_mask_BS: Tensor | None = None
    use_BN: Tensor | None = None
    unused: tuple[int, ...] = ()
    domain_vector_B1D: Tensor | None = None
    records: dict[tuple[str, Side], list[Tensor]] = field(default_factory=dict)

    def with_proportion(self, proportion_BTK: Tensor | None) -> DomainContext:
        """Return the context of one layer, with its proportion and the same records."""
        return replace(self, proportion_BTK=proportion_BTK)

    def select(self, rows: Tensor) -> DomainContext:
        """Return the context of the given sentences, without records."""
        domain_B, use_BN = (
            known.index_select(0, rows) if known is not None else None for known in (self.domain_B, self.use_BN)
        )
        return DomainContext(domain_B=domain_B, use_BN=use_BN, unused=self.unused)

    def record(self, kind: str, side: Side, value: Tensor) -> None:
        """Keep a tensor of one layer; docs/how-it-works.md lists the kinds."""
        self.records.setdefault((kind, side), []).append(value)

    def recorded(self, kind: str, side: Side) -> list[Tensor]:
        """Return the tensors of this kind that the layers of a side recorded, first layer first."""
        return self.records.get((kind, side), [])
