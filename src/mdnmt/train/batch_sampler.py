"""Choose the batches of each update: a pure function of data, recipe, seed, epoch and position."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mdnmt.config.training import Training
from mdnmt.tasks.task_data import Indices, Split
from mdnmt.train.batches import epoch_batches
from mdnmt.train.domain_sampling import domain_shares
from mdnmt.train.progress import Progress


@dataclass(frozen=True)
class UpdateBatches:
    """The batches of one update.

    Attributes:
        epoch: counted from 0.
        positions: their positions in the epoch.
        batches: the row numbers of the sentences of each batch.
        num_target_tokens: number of target tokens in all batches.
    """

    epoch: int
    positions: list[int]
    batches: list[Indices]
    num_target_tokens: int


class BatchSampler:
    """Yields the batches of a run, one update after the other."""

    def __init__(
        self, split: Split, indices: Indices, recipe: Training, seed: int, domains: Sequence[str] = ()
    ) -> None:
        """Prepare the order of a run's sentence pairs; `domains` are the task's, needed if the recipe samples domains.

        Raises:
            ConfigError: the recipe's weights do not fit the domains.
        """
        self.split, self.indices, self.recipe, self.seed = split, indices, recipe, seed
        sampling = recipe.domain_sampling
        self.shares = None if sampling is None else domain_shares(split.domains, indices, sampling, domains)
        self._epoch: tuple[int, list[Indices]] = (-1, [])

    def next(self, progress: Progress) -> UpdateBatches:
        """Return the next update's batches, without those in `progress.skipped`, and advance `progress` past them."""
        while True:
            batches, epoch = self._batches(progress.epoch), progress.epoch
            skipped = {place for one in progress.skipped if one["epoch"] == epoch for place in one["positions"]}
            positions: list[int] = []
            while progress.position < len(batches) and len(positions) < self.recipe.accumulate_batches:
                if progress.position not in skipped:
                    positions.append(progress.position)
                progress.position += 1
            if positions:
                chosen = [batches[position] for position in positions]
                num_target_tokens = sum(int(self.split.target.lengths[rows].sum()) for rows in chosen)
                return UpdateBatches(epoch, positions, chosen, num_target_tokens)
            progress.epoch, progress.position = epoch + 1, 0

    def epochs(self, progress: Progress) -> float:
        """Return the number of passes over the training text, as a fraction."""
        return progress.epoch + progress.position / len(self._batches(progress.epoch))

    def updates_per_epoch(self) -> int:
        """Return the number of updates of the first epoch; if domains are sampled, other epochs may differ slightly."""
        return -(-len(self._batches(0)) // self.recipe.accumulate_batches)

    def _batches(self, epoch: int) -> list[Indices]:
        if self._epoch[0] != epoch:
            batches = epoch_batches(
                self.split,
                self.indices,
                max_tokens=self.recipe.max_tokens,
                batch_sentences=self.recipe.batch_sentences,
                shares=self.shares,
                seed=self.seed,
                epoch=epoch,
            )
            self._epoch = (epoch, batches)
        return self._epoch[1]
