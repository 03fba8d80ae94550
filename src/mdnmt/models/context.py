"""The domain context: what blocks tell each other and the losses about domains, during one pass over a batch."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

from torch import Tensor

from mdnmt.models.packing import Packing

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
        packing: where the sentences of the tokens lie that the blocks now see, if the batch is packed.
        source_packing: where the source sentences lie, in such a batch.
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
    packing: Packing | None = None
    source_packing: Packing | None = None
    records: dict[tuple[str, Side], list[Tensor]] = field(default_factory=dict)

    @property
    def positions(self) -> int | Tensor:
        """Return the positions of the tokens for an embedding: from 0 in each row, or those of a packed row."""
        return 0 if self.packing is None else self.packing.position_BT

    def with_proportion(self, proportion_BTK: Tensor | None) -> DomainContext:
        """Return the context of one layer, with its proportion and the same records."""
        return replace(self, proportion_BTK=proportion_BTK)

    def select(self, rows: Tensor) -> DomainContext:
        """Return the context of the given sentences, without records."""
        domain_B, use_BN = (
            known.index_select(0, rows) if known is not None else None for known in (self.domain_B, self.use_BN)
        )
        return DomainContext(domain_B=domain_B, use_BN=use_BN, unused=self.unused)

    def to_tokens(self, value_B1X: Tensor) -> Tensor:
        """Return one value of each sentence in a form that broadcasts over the tokens [B, T, X]."""
        return value_B1X if self.packing is None else self.packing.spread(value_B1X.squeeze(1))

    def to_sentences(self, x_BTX: Tensor, mask_BT: Tensor) -> tuple[Tensor, Tensor]:
        """Return tokens and their mask with one row for each sentence, for blocks that sum over a sentence."""
        if self.packing is None:
            return x_BTX, mask_BT
        return self.packing.unpack(x_BTX), self.packing.mask_PL

    def from_sentences(self, value_BT: Tensor) -> Tensor:
        """Return values of tokens, laid out by `to_sentences`, in the layout of the batch."""
        return value_BT if self.packing is None else self.packing.pack(value_BT.unsqueeze(-1)).squeeze(-1)

    def record(self, kind: str, side: Side, value: Tensor) -> None:
        """Keep a tensor of one layer for analyses and losses, such as `proportion` of the encoder."""
        self.records.setdefault((kind, side), []).append(value)

    def recorded(self, kind: str, side: Side) -> list[Tensor]:
        """Return the tensors of this kind that the layers of a side recorded, first layer first."""
        return self.records.get((kind, side), [])
