"""Which part of an update each of several workers computes: a pure function, by which nothing but rounding changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from mdnmt.errors import ConfigError
from mdnmt.methods.method import Method
from mdnmt.models.guided_loss import GuidedLoss
from mdnmt.models.latent_depth_losses import BlockCountLoss, BlockPriorLoss, BlockSharingLoss
from mdnmt.models.losses import LabelSmoothedCrossEntropy, Loss, ProportionLoss
from mdnmt.models.naive_mixing import NaiveProportionLoss
from mdnmt.models.sentence_loss import SentenceDomainLoss
from mdnmt.train.batches import Indices

# Over the sentences of a batch, with the padding of the whole batch.
Form = Literal["sum", "mean"]


@dataclass(frozen=True)
class Share:
    """What a worker computes of one batch.

    Attributes:
        number: of the batch in its update, from 0.
        rows: the sentences of this worker.
        whole: all sentences of the batch, which say how wide it is padded.
    """

    number: int
    rows: Indices
    whole: Indices

    def weight(self, loss: Loss) -> float | None:
        """Return what this share's loss is multiplied by, so that all shares add up to that of the batch; None: 1."""
        if len(self.rows) == len(self.whole) or form_of(loss) == "sum":
            return None
        return len(self.rows) / len(self.whole)


def form_of(loss: Loss) -> Form | None:
    """Say how a loss is put together from those of sentences; None: it is not, or that is not known."""
    if isinstance(loss, ProportionLoss | SentenceDomainLoss):
        return "mean" if loss.aux_norm == "code" else "sum"
    if isinstance(loss, LabelSmoothedCrossEntropy):
        return None if loss.misaligned else "sum"
    if isinstance(loss, GuidedLoss | BlockPriorLoss | BlockSharingLoss | BlockCountLoss | NaiveProportionLoss):
        return "sum"
    return None


def deal(batches: Sequence[Indices], rank: int, count: int, *, may_cut: bool) -> list[Share]:
    """Return the share of worker `rank` of `count` in the batches of an update; over all workers each row stands once.

    Whole batches where they come out even, or where a loss cannot be cut; otherwise every batch is cut, its sentences
    dealt in turn, so that long and short ones go to all.
    """
    if len(batches) % count == 0 or not may_cut:
        return [Share(number, batches[number], batches[number]) for number in range(rank, len(batches), count)]
    parts = ((number, batch[rank::count], batch) for number, batch in enumerate(batches))
    return [Share(number, rows, batch) for number, rows, batch in parts if len(rows)]


def may_cut(method: Method, count: int, accumulate_batches: int) -> bool:
    """Say whether the batches of a method may be cut among workers.

    Raises:
        ConfigError: they may not, and there are more workers than batches in an update.
    """
    whole = [loss.name for loss in method.losses if form_of(loss) is None]
    if whole and count > accumulate_batches:
        raise ConfigError(
            f"found {count} workers for updates of {accumulate_batches} batches, but the loss {whole[0]!r} is no sum "
            f"over sentences, so that its batches cannot be cut: expected at most {accumulate_batches} workers"
        )
    return not whole
