"""Which checkpoints are worth their room on the disk."""

from __future__ import annotations

from collections.abc import Iterable


def kept(updates: Iterable[int], last: int, best: int | None, average: Iterable[int] = ()) -> set[int]:
    """Return the updates to keep: the `last` newest, the best by validation, and those that will be averaged.

    Raises:
        ValueError: `last` is below 1, which could leave nothing to resume from.
    """
    if last < 1:
        raise ValueError(f"at least the newest checkpoint is kept, so last={last} cannot be")
    present = sorted(set(updates))
    wanted = set(average) | ({best} if best is not None else set())
    return set(present[-last:]) | (wanted & set(present))
