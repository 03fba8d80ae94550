"""Estimate the maximum number of updates of a run before it has begun."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mdnmt.config.budget import in_updates
from mdnmt.config.run import RunSpec
from mdnmt.config.task import TaskConfig
from mdnmt.fsio import read_json
from mdnmt.operations.plan.model_work import TOKENS_PER_SENTENCE, tokens_of_batch

# Assumed for a domain whose data is not built yet and whose task sets no `train`.
PAIRS_A_DOMAIN = 200_000


def expected_updates(spec: RunSpec, task: TaskConfig, folder: Path) -> int:
    """Return `max_updates` of a run, or an estimate of it for a budget in epochs.

    The trainer counts the batches of an epoch. A plan estimates their number from the counts in stats.json, or, until
    the task is built, from the pairs that its YAML file asks for.

    Args:
        spec: the run.
        task: its task.
        folder: the folder of the task's data, which need not exist.
    """
    recipe = spec.training
    if recipe.max_epochs is None:
        return recipe.max_updates
    stats = _stats(folder / "stats.json")
    sizes = [_size(stats.get(name, {}).get("train", {}), task, name) for name in spec.domains]
    pairs, tokens = (sum(values) for values in zip(*sizes, strict=True))
    batches = pairs / recipe.batch_sentences if recipe.batch_sentences else tokens / tokens_of_batch(recipe)
    return in_updates(recipe, max(1, round(batches / recipe.accumulate_batches))).max_updates


def _size(counted: dict[str, Any], task: TaskConfig, domain: str) -> tuple[int, int]:
    """Return the number of pairs of a domain's training text, and the tokens of its longer side."""
    if "sentences" in counted:
        pairs = int(counted["sentences"])
        return pairs, pairs + max(int(counted[side]["pieces"]) for side in ("source", "target"))
    pairs = task.domains[domain].train or PAIRS_A_DOMAIN
    return pairs, pairs * TOKENS_PER_SENTENCE


def _stats(path: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = read_json(path)["domains"]
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    return found
