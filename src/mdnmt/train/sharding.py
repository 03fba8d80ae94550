"""Divide the batches of an update among workers.

The division is a pure function of the batches; it changes the summed gradients only by rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mdnmt.errors import ConfigError
from mdnmt.methods.method import Trainable
from mdnmt.models.losses import Loss, Reduction
from mdnmt.tasks.task_data import Indices


@dataclass(frozen=True)
class Shard:
    """One worker's part of one batch.

    Attributes:
        number: index of the batch in its update, from 0.
        rows: the sentences of this worker.
        batch_rows: all sentences of the batch; they determine the padded widths.
    """

    number: int
    rows: Indices
    batch_rows: Indices

    def weight(self, loss: Loss) -> float | None:
        """Return the factor with which the losses of all shards add up to the loss of the batch; None: 1."""
        if len(self.rows) == len(self.batch_rows) or reduction_of(loss) == "sum":
            return None
        return len(self.rows) / len(self.batch_rows)


def reduction_of(loss: Loss) -> Reduction | None:
    """Return how a loss combines the losses of its sentences; None: it needs the whole batch at once.

    Raises:
        ConfigError: its attribute `reduction` has another value.
    """
    found = getattr(loss, "reduction", None)
    if found not in ("sum", "mean", None):
        raise ConfigError(f"loss {loss.name!r}: found reduction = {found!r}, expected 'sum', 'mean' or None")
    return found


def shard(batches: Sequence[Indices], rank: int, count: int, *, can_shard: bool) -> list[Shard]:
    """Return the shards of worker `rank` of `count` in the batches of an update; each row belongs to one worker.

    Workers get whole batches if these can be divided equally, or if a loss cannot be split. Otherwise every batch is
    split: its sentences are assigned in turn, so that every worker gets long and short ones.
    """
    if len(batches) % count == 0 or not can_shard:
        return [Shard(number, batches[number], batches[number]) for number in range(rank, len(batches), count)]
    parts = ((number, batch[rank::count], batch) for number, batch in enumerate(batches))
    return [Shard(number, rows, batch) for number, rows, batch in parts if len(rows)]


def can_shard(method: Trainable, count: int, accumulate_batches: int) -> bool:
    """Return whether the batches of a method can be split among workers.

    Raises:
        ConfigError: they cannot, and there are more workers than batches in an update.
    """
    whole = [loss.name for loss in method.losses if reduction_of(loss) is None]
    if whole and count > accumulate_batches:
        raise ConfigError(
            f"found {count} workers for updates of {accumulate_batches} batches, but the loss {whole[0]!r} "
            "has no attribute reduction ('sum' or 'mean' over sentences), so that its batches cannot be split: "
            f"expected at most {accumulate_batches} workers"
        )
    return not whole
