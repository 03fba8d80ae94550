"""The learning rate of an update."""

from __future__ import annotations

from mdnmt.config.training import Training


def learning_rate(update: int, recipe: Training) -> float:
    """Return the learning rate of update 1, 2, ...: linear warm-up to the peak, then the recipe's schedule.

    `inverse_sqrt` is peak x sqrt(warm-up / update) (Vaswani et al. 2017, sec. 5.3), parametrised as in fairseq.
    `polynomial` falls in a straight line from the peak to 0 at the last update, as fairseq's with power 1. `constant`
    stays at the peak and falls in the same way over the last `decay_updates` (Hägele et al. 2024, "Scaling Laws and
    Compute-Optimal Training Beyond Fixed Training Durations"). No rate is below `min_learning_rate`.
    """
    warmup = max(1, recipe.warmup_updates)
    if update < warmup:
        rise = recipe.learning_rate - recipe.warmup_init_learning_rate
        rate = recipe.warmup_init_learning_rate + rise * update / warmup
    elif recipe.schedule == "polynomial":
        left = (recipe.max_updates - update) / max(1, recipe.max_updates - warmup)
        rate = recipe.learning_rate * left
    elif recipe.schedule == "constant":
        left = (recipe.max_updates - update) / recipe.decay_updates if recipe.decay_updates else 1.0
        rate = recipe.learning_rate * min(1.0, left)
    else:
        rate = recipe.learning_rate * (warmup / update) ** 0.5
    return max(rate, recipe.min_learning_rate)
