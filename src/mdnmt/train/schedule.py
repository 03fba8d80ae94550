"""The learning rate of an update."""

from __future__ import annotations

from mdnmt.config.training import Training


def inverse_sqrt(update: int, recipe: Training) -> float:
    """Return the learning rate of update 1, 2, ...: linear warm-up to the peak, then peak x sqrt(warm-up / update).

    Source: Vaswani et al. 2017, sec. 5.3, in the parametrisation of fairseq's `inverse_sqrt`.
    """
    warmup = max(1, recipe.warmup_updates)
    if update < warmup:
        rise = recipe.learning_rate - recipe.warmup_init_learning_rate
        rate = recipe.warmup_init_learning_rate + rise * update / warmup
    else:
        rate = recipe.learning_rate * (warmup / update) ** 0.5
    return max(rate, recipe.min_learning_rate)
