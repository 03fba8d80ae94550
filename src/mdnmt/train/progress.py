"""Where a run stands: all of its state that is not a tensor, and a pure function of data, configuration and seed."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from mdnmt.config.training import Training


@dataclass
class Progress:
    """Counters of a run; saved with every checkpoint.

    Attributes:
        update: updates done.
        epoch: counted from 0.
        position: batches of this epoch already used.
        best_value: best validation value so far, as a number to be made small.
        best_update: where it was reached.
        without_better: validations since then.
        validated: the updates at which validation took place, the newest last.
        window: sums since the last training line: tokens, and each loss by name.
        skipped: what was rolled back and is left out since, each with `update`, `epoch` and `positions` of batches.
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

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Progress:
        """Return the progress that `to_json` wrote."""
        return cls(**value)

    def to_json(self) -> dict[str, Any]:
        """Return the progress as plain JSON values."""
        return asdict(self)

    def note_validation(self, value: float) -> None:
        """Take the value of a validation at the present update (smaller is better)."""
        self.validated.append(self.update)
        if self.best_value is None or value < self.best_value:
            self.best_value, self.best_update, self.without_better = value, self.update, 0
        else:
            self.without_better += 1

    def newest(self, recipe: Training) -> list[int]:
        """Return the updates whose checkpoints make the average; none where the recipe has no average."""
        return self.validated[-recipe.average_checkpoints :] if recipe.average_checkpoints else []

    def final(self, recipe: Training) -> list[int]:
        """Return the updates whose checkpoints, averaged, are the final weights."""
        newest = self.newest(recipe) if recipe.final_weights == "average" else []
        return newest or self._best()

    def alternative(self, recipe: Training) -> list[int]:
        """Return those of the other rule; without an average both rules give the best."""
        newest = self.newest(recipe) if recipe.final_weights == "best" else []
        return newest or self._best()

    def _best(self) -> list[int]:
        return [self.best_update] if self.best_update is not None else []

    def is_over(self, recipe: Training) -> bool:
        """Say whether the run has ended, by its number of updates or for want of progress."""
        out_of_patience = bool(recipe.patience) and self.without_better >= recipe.patience
        return self.update >= recipe.max_updates or out_of_patience
