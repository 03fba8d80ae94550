"""Notes on the runs behind an exhibit: which ones other code made, and which packages they do not share."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mdnmt.exhibits.grid import Grid
from mdnmt.exhibits.specs import AnyTable, ExamplesTableSpec, ReportRun, ScoreRow
from mdnmt.fsio import MADE_BY, RECORD, SUMS
from mdnmt.provenance import NUMERIC_PACKAGES
from mdnmt.studies.result_paths import ResultPaths
from mdnmt.studies.study import Study
from mdnmt.training_code import why_other_code, why_translated_by_other_code

MOST_NAMED = 8  # runs of a note that are listed by name; beyond that they are counted


@dataclass(frozen=True)
class NamedRun:
    """A run as a reader knows it.

    Attributes:
        label: of its system in tables.
        seed: None if nothing was trained.
        folder: its folder.
        translations: the folder of its translations that an exhibit uses, if it uses any.
    """

    label: str
    seed: int | None
    folder: Path
    translations: Path | None = None


def run_notes(runs: Iterable[NamedRun]) -> list[str]:
    """Return a sentence for each way in which runs differ from what the code here would make, or from each other.

    What does not exist, or records nothing, gives no note.
    """
    why: dict[str, list[NamedRun]] = {}
    versions: dict[str, dict[str, list[NamedRun]]] = {}
    for run in dict.fromkeys(runs):
        record = _read(run.folder / RECORD)
        translated = _read(run.translations / SUMS).get(MADE_BY, {}) if run.translations else {}
        if found := why_other_code(record) or why_translated_by_other_code(record, translated.get("code")):
            why.setdefault(found, []).append(run)
        for packages in ((record.get("provenance") or {}).get("packages") or {}, translated.get("packages") or {}):
            for name in (name for name in NUMERIC_PACKAGES if name in packages):
                users = versions.setdefault(name, {}).setdefault(str(packages[name]), [])
                users += [run] if run not in users else []
    notes = [f"{_named(those)}: {text}." for text, those in why.items()]
    for package, users_of in versions.items():
        if len(users_of) > 1:
            listed = "; ".join(f"{version} ({_named(users_of[version])})" for version in sorted(users_of))
            notes.append(f"Caution, made with different versions of {package}: {listed}.")
    return notes


def _named(runs: Iterable[NamedRun]) -> str:
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
    return found if isinstance(found, dict) else {}


def with_run_notes(grid: Grid, spec: AnyTable) -> Grid:
    """Return a table with the notes on its runs."""
    rows = spec.systems if isinstance(spec, ExamplesTableSpec) else getattr(spec, "rows", ())
    runs = [
        NamedRun(row.label, run.seed, run.scores.parent.parent, run.scores.parent / "hyp")
        for row in rows
        if isinstance(row, ScoreRow) and row.external is None
        for run in row.runs
        if run.seed is not None
    ]
    return grid.model_copy(update={"notes": (*grid.notes, *run_notes(runs))})


def of_report(runs: Iterable[ReportRun]) -> list[str]:
    """Return the notes on the runs of a figure of the report."""
    return run_notes(NamedRun(run.label, run.seed, run.folder) for run in runs)


def study_notes(study: Study, places: ResultPaths, task: str | None = None) -> list[str]:
    """Return the notes on a study's runs (of one task)."""
    several = task is None and len(study.tasks) > 1
    return run_notes(
        NamedRun(
            f"{run.label} ({run.task})" if several else run.label,
            run.seed,
            Path(places.run(run)),
            Path(places.test(run), "hyp"),
        )
        for run in study.makeable(task)
    )


def notes_hash(study: Study, places: ResultPaths, task: str | None = None) -> str:
    """Return a hash of the notes on a study's runs (of one task), a param of the rules that show them; "" without any.

    The notes depend on the code here, which no input file of a rule shows.
    """
    notes = study_notes(study, places, task)
    return hashlib.sha256("\n".join(notes).encode()).hexdigest()[:16] if notes else ""
