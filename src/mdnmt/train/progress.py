"""The counters of a run: all of its state except tensors, a pure function of data, configuration and seed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from mdnmt.config.training import Training


@dataclass
class Progress:
    """Counters of a run; saved with every checkpoint.

    Attributes:
        update: number of updates done.
        epoch: counted from 0.
        position: number of batches of this epoch already used.
        best_value: lowest validation value so far: the loss, or BLEU with its sign changed.
        best_update: the update at which it was reached.
        without_better: number of validations since then.
        validated: the updates at which validation took place, the newest last.
        window: sums since the last training line of the log, as `Meters.read` returns them.
        skipped: batches left out after a rollback, each entry with `update`, `epoch` and `positions` in that epoch.
    """

    update: int = 0
    epoch: int = 0
    position: int = 0
    best_value: float | None = None
    best_update: int | None = None
    without_better: int = 0
    validated: list[int] = field(default_factory=list)
    window: dict[str, float] = field(default_factory=dict)
    skipped: list[dict[str, Any]] = field(default_factory=list)

    def note_validation(self, value: float) -> None:
        """Record the value of a validation at the current update (smaller is better)."""
        self.validated.append(self.update)
        if self.best_value is None or value < self.best_value:
            self.best_value, self.best_update, self.without_better = value, self.update, 0
        else:
            self.without_better += 1

    def newest(self, recipe: Training) -> list[int]:
        """Return the updates of the newest checkpoints, which are averaged; none if the recipe asks for no average."""
        return self.validated[-recipe.average_checkpoints :] if recipe.average_checkpoints else []

    def weights_needed(self, recipe: Training) -> set[int]:
        """Return the updates whose weights are still needed: the best by validation, and those to be averaged."""
        return {*self.newest(recipe), *self._best()}

    def final(self, recipe: Training) -> list[int]:
        """Return the updates whose checkpoints are averaged into the final weights."""
        newest = self.newest(recipe) if recipe.final_weights == "average" else []
        return newest or self._best()

    def alternative(self, recipe: Training) -> list[int]:
        """Return the same for the other value of `final_weights`; without an average both give the best checkpoint."""
        newest = self.newest(recipe) if recipe.final_weights == "best" else []
        return newest or self._best()

    def _best(self) -> list[int]:
        return [self.best_update] if self.best_update is not None else []

    def is_over(self, recipe: Training) -> bool:
        """Return whether the run has ended: all updates are done, or its patience is exhausted."""
        out_of_patience = bool(recipe.patience) and self.without_better >= recipe.patience
        return self.update >= recipe.max_updates or out_of_patience
