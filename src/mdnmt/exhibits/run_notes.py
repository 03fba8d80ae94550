"""Notes on what is behind an exhibit: which results other code made, and which packages their runs do not share.

A result records the code that made it (`mdnmt.training_code`) and the files that it was made from; the notes follow
these records back to the runs and the data.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from mdnmt.exhibits.grid import Grid
from mdnmt.exhibits.registry import TableSpec
from mdnmt.exhibits.rows import ReportRun, ScoreRow
from mdnmt.fsio import MADE_BY, MADE_FROM, RECORD, SUMS
from mdnmt.provenance import NUMERIC_PACKAGES
from mdnmt.training_code import why_made_by_other_code, why_other_code

MOST_NAMED = 8  # runs of a note that are listed by name; beyond that they are counted
TASK = "task.json"
_MAPPINGS = (MADE_BY, MADE_FROM, "provenance")  # in a damaged file they may be anything


class Name(NamedTuple):
    """A run as a reader knows it: the label of its system in tables; the seed is None if nothing was trained."""

    label: str
    seed: int | None = None


def notes_on(files: Iterable[Path], names: Mapping[Path, Name] | None = None) -> list[str]:
    """Return a sentence for each way in which results differ from what the code here would make, or from each other.

    What does not exist, or records nothing, gives no note.

    Args:
        files: the results, or folders of them.
        names: folder of a run -> its name; other runs are named as run.json does.
    """
    why: dict[str, list[Name]] = {}
    versions: dict[tuple[str, bool], dict[str, list[Name]]] = {}  # package, and whether of COMET's own environment
    own: dict[Path, dict[Path, dict[str, Any]]] = {}  # owner -> its files
    for path, record in _behind(files):
        own.setdefault(_owner(path), {})[path] = record
    for owner, records in own.items():
        record = records.get(owner / RECORD) or records.get(owner / TASK) or {}
        name = (names or {}).get(owner) or _name(owner, record)
        made = [one[MADE_BY] for one in records.values() if MADE_BY in one]
        found = why_other_code(record) if owner / RECORD in records else ""
        of_data = {"code": record.get("code")}
        if found := found or next(filter(None, map(why_made_by_other_code, (of_data, *made))), ""):
            why.setdefault(found, []).append(name)
        for by in (record.get("provenance") or {}, *made):
            packages, is_comet = by.get("packages"), "comet" in (by.get("code") or ())
            for package, version in packages.items() if isinstance(packages, dict) else ():
                users = versions.setdefault((package, is_comet), {}).setdefault(str(version), [])
                users += [name] if name not in users else []
    notes = [f"{_named(those)}: {text}." for text, those in why.items()]
    for (package, _), users_of in versions.items():
        if len(users_of) > 1 and package in NUMERIC_PACKAGES:
            listed = "; ".join(f"{version} ({_named(users_of[version])})" for version in sorted(users_of))
            notes.append(f"Caution, made with different versions of {package}: {listed}.")
    return notes


def _behind(files: Iterable[Path]) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Yield the records of files, of all that they were made from, and of the runs and tasks that these belong to."""
    waiting, seen = list(files), set[Path]()
    while waiting:
        path = waiting.pop(0)
        path = path if path.suffix == ".json" else (path if path.is_dir() else path.parent) / SUMS
        if path in seen:
            continue
        seen.add(path)
        record = _read(path)
        yield path, record
        owner = _owner(path)
        waiting += [owner / RECORD, owner / TASK] if owner != path else []
        waiting += [Path(os.path.normpath(path.parent / name)) for name in record.get(MADE_FROM, {})]


def _owner(path: Path) -> Path:
    """Return the folder of the run or the task that a file belongs to; for others, the file itself."""
    return next((one for one in list(path.parents)[:4] if (one / RECORD).is_file() or (one / TASK).is_file()), path)


def _name(owner: Path, record: Mapping[str, Any]) -> Name:
    if "method" in record:
        return Name(str(record["method"]), record.get("seed"))
    return Name(f"task {record['name']}" if "name" in record else owner.stem)


def _named(runs: Iterable[Name]) -> str:
    """Return runs in words: `Encoder, seeds 1, 2; Mixed, seed 1`."""
    seeds: dict[str, list[str]] = {}
    for run in runs:
        seeds.setdefault(run.label, []).extend([] if run.seed is None else [str(run.seed)])
    found = [
        f"{label}, seed{'s' if len(own) > 1 else ''} {', '.join(own)}" if own else label for label, own in seeds.items()
    ]
    more = len(found) - MOST_NAMED
    return "; ".join(found[:MOST_NAMED]) + (f"; and {more} more systems" if more > 0 else "")


def _read(path: Path) -> dict[str, Any]:
    # Not with fsio: a damaged file is reported by those who read its numbers.
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    found = found if isinstance(found, dict) else {}
    return {key: one for key, one in found.items() if key not in _MAPPINGS or isinstance(one, dict)}


def with_run_notes(grid: Grid, spec: TableSpec) -> Grid:
    """Return a table with the notes on what it was made from."""
    names = dict[Path, Name]()
    for row in spec.needs():
        if isinstance(row, ScoreRow) and row.external is None:
            for run in row.runs:
                if run.seed is not None:
                    folder = run.scores.parent.parent
                    # A run under several label conditions has several rows, and the note is on all of them.
                    before = [names[folder].label] if folder in names else []
                    names[folder] = Name(" / ".join((*before, row.label)), run.seed)
    return grid.model_copy(update={"notes": (*grid.notes, *notes_on(spec.inputs(), names))})


def of_report(runs: Iterable[ReportRun], numbers: Path | None = None) -> list[str]:
    """Return the notes on a figure of the report: on its runs, and on what the numbers beside it were made from."""
    names = {run.folder: Name(run.label, run.seed) for run in runs}
    return notes_on([*(folder / RECORD for folder in names), *([numbers] if numbers is not None else [])], names)
