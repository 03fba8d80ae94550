"""Choose which checkpoints to keep on disk."""

from __future__ import annotations

from collections.abc import Iterable


def updates_to_keep(updates: Iterable[int], last: int) -> set[int]:
    """Return the updates whose complete checkpoints are kept for resuming: the `last` newest.

    Raises:
        ValueError: `last` is below 1, which could leave nothing to resume from.
    """
    if last < 1:
        raise ValueError(f"at least the newest checkpoint is kept, so last={last} cannot be")
    return set(sorted(set(updates))[-last:])


def weights_to_keep(best: int | None, average: Iterable[int] = ()) -> set[int]:
    """Return the updates whose weights are still needed: the best by validation, and those to be averaged."""
    return set(average) | ({best} if best is not None else set())
