"""Convert a recipe's budget from epochs to updates."""

from __future__ import annotations

from mdnmt.config.training import Training


def counts_epochs(recipe: Training) -> bool:
    """Return whether a recipe gives any number in epochs."""
    return recipe.max_epochs is not None or recipe.validate_every_epochs is not None


def in_updates(recipe: Training, updates_per_epoch: int) -> Training:
    """Return the recipe with `max_updates` and `validate_every` in place of their counterparts in epochs.

    Values in updates are not changed. A budget in epochs is rounded to whole updates, at least one.
    """

    def updates(epochs: float) -> int:
        return max(1, round(epochs * updates_per_epoch))

    found: dict[str, int | None] = {}
    if recipe.max_epochs is not None:
        found |= {"max_updates": updates(recipe.max_epochs), "max_epochs": None}
    if recipe.validate_every_epochs is not None:
        found |= {"validate_every": updates(recipe.validate_every_epochs), "validate_every_epochs": None}
    return recipe.model_copy(update=found)
