"""The progress of each run, read from the files that its trainer writes, however it was started."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mdnmt.fsio import read_json
from mdnmt.paths import RunPaths
from mdnmt.train.lease import lease_is_live
from mdnmt.train.metrics_log import read_metrics


@dataclass(frozen=True)
class RunState:
    """One run.

    Attributes:
        name: task/method/seed<k>-<hash>, like its folder.
        state: "done", "training", "stopped" (begun, but not being trained) or "to do".
        update: the update reached so far.
        updates: its maximum number of updates; None: not known.
        seconds_left: time left at the speed of the current attempt; None: not known.
        attempts: how often it was started or resumed.
        holder: a description of the process that trains it.
        error: how its last failed attempt ended.
        loss: the last loss on the training batches.
    """

    name: str
    state: str
    update: int = 0
    updates: int | None = None
    seconds_left: float | None = None
    attempts: int = 0
    holder: str | None = None
    error: str | None = None
    loss: float | None = None


def run_states(folder: Path, updates: dict[str, int | None]) -> list[RunState]:
    """Return the states of a project's runs.

    Args:
        folder: the project's folder.
        updates: name of each run to look at -> its maximum number of updates; None: not known.
    """
    return [_state(name, RunPaths(folder / "results" / "runs" / name), most) for name, most in updates.items()]


def _state(name: str, paths: RunPaths, updates: int | None) -> RunState:
    records = read_metrics(paths.metrics)
    if updates is None:
        updates = next((int(one["max_updates"]) for one in reversed(records) if "max_updates" in one), None)
    attempts = sum(record.get("event") in ("start", "resume") for record in records)
    update = max((_update(record) for record in records), default=0)
    if paths.is_finished:
        return RunState(name, "done", update, updates, None, attempts)
    live = lease_is_live(paths.lease)
    return RunState(
        name=name,
        state="training" if live else "stopped" if records else "to do",
        update=update,
        updates=updates,
        seconds_left=_seconds_left(records, update, updates) if live else None,
        attempts=attempts,
        holder=live,
        # While an attempt runs, the file says what would be known if it were killed.
        error=None if live else _last_error(paths.folder / "attempts.json"),
        loss=next(
            (float(one["loss"]) for one in reversed(records) if one.get("split") == "train" and "loss" in one), None
        ),
    )


def _update(record: dict[str, Any]) -> int:
    return int(record.get("update", record.get("at_update", 0)))


def _seconds_left(records: list[dict[str, Any]], update: int, updates: int | None) -> float | None:
    """Return the time left at the speed of the current attempt; earlier attempts of a resumed run do not count."""
    begun = [number for number, record in enumerate(records) if record.get("event") in ("start", "resume")]
    if not begun or updates is None:
        return None
    measured = [record for record in records[begun[-1] :] if "seconds" in record]
    made = update - _update(records[begun[-1]])
    return float(measured[-1]["seconds"]) / made * (updates - update) if measured and made > 0 else None


def _last_error(path: Path) -> str | None:
    try:
        return str(read_json(path)["error"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def duration(seconds: float) -> str:
    """Return a time as hours and minutes."""
    minutes = round(seconds / 60)
    return f"{minutes // 60} h {minutes % 60:02d} min" if minutes >= 60 else f"{minutes} min"
