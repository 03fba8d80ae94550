"""What blocks tell each other and the losses about domains, for one pass over one batch."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

from torch import Tensor

Side = Literal["encoder", "memory", "decoder"]


@dataclass
class DomainContext:
    """Gold labels where a method may see them, and what blocks leave for each other, for losses and for figures.

    Attributes:
        domain_B: gold domain of each row of the words at hand, or None where it is not known (translation of new text).
        proportion_BTK: domain proportion of each word at hand, where a layer has one for all its projections.
        use_BN: how much each row uses each of N numbered blocks, where a method chooses among them.
        unused: numbers of the blocks that no row uses, and that are therefore not computed.
        records: what blocks left, one tensor a layer, by kind and side; the side says whether T runs over source words
            (`encoder`, and `memory` for the encoder's output as the decoder sees it) or target words (`decoder`).
    """

    domain_B: Tensor | None = None
    proportion_BTK: Tensor | None = None
    use_BN: Tensor | None = None
    unused: tuple[int, ...] = ()
    records: dict[tuple[str, Side], list[Tensor]] = field(default_factory=dict)

    def with_proportion(self, proportion_BTK: Tensor | None) -> DomainContext:
        """Return the context of one layer: with its proportion, and the same records."""
        return replace(self, proportion_BTK=proportion_BTK)

    def select(self, rows: Tensor) -> DomainContext:
        """Return what is known of the given rows, without records."""
        domain_B, use_BN = (
            known.index_select(0, rows) if known is not None else None for known in (self.domain_B, self.use_BN)
        )
        return DomainContext(domain_B=domain_B, use_BN=use_BN, unused=self.unused)

    def record(self, kind: str, side: Side, value: Tensor) -> None:
        """Keep what one layer found; docs/how-it-works.md lists the kinds."""
        self.records.setdefault((kind, side), []).append(value)

    def recorded(self, kind: str, side: Side) -> list[Tensor]:
        """Return what the layers of a side left of this kind, first layer first."""
        return self.records.get((kind, side), [])
