"""Read every run of a study and its state, and make the table of runs."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mdnmt.exhibits.run_notes import Name, notes_on
from mdnmt.fsio import RECORD
from mdnmt.numbers.rounding import duration
from mdnmt.report.plain_tables import NONE, Entry, PlainTable, number, optional_json

NUMERIC = {"Seed", "Updates", "Best at", "Time", "Resumed", "Parameters"}  # columns of the table of runs
DIGEST = 12  # characters of a checksum in the table; the whole checksum is shown with the run


@dataclass(frozen=True)
class RunRecord:
    """A run that the study names or that was made.

    Attributes:
        line: its line of runs.tsv.
        state: done, begun, to do or missing; "not made" if runs.tsv gives none.
        made: its run.json; None if it is not done.
    """

    line: dict[str, str]
    state: str
    made: dict[str, Any] | None

    @property
    def folder(self) -> str:
        """Return its folder, as the study names it; empty if it cannot be made."""
        return self.line.get("run_dir", "")

    @property
    def label(self) -> str:
        """Return the label of its system in tables."""
        return self.line.get("label") or self.line.get("method", "")

    @property
    def name(self) -> str:
        """Return system and seed in words."""
        seed = self.line.get("seed")
        return f"{self.label}, seed {seed}" if seed else self.label


def anchor(folder: str | Path) -> str:
    """Return the id of a run's block: `run-demo-en-fr-mixed-seed1-b02da8b0` of the folder of that name."""
    return "-".join(["run", *(re.sub(r"[^A-Za-z0-9_-]+", "-", part) for part in Path(folder).parts[-3:])])


def links(records: Iterable[RunRecord]) -> dict[str, str]:
    """Return folder -> address on the page, of all runs that are done."""
    return {record.folder: f"#{anchor(record.folder)}" for record in records if record.made is not None}


def _read_tsv(path: Path | None) -> list[dict[str, str]]:
    if path is None or not path.is_file():
        return []
    with path.open(encoding="utf-8", newline="") as handle:
        return [
            {key: value or "" for key, value in row.items() if key}
            for row in csv.DictReader(handle, delimiter="\t", quoting=csv.QUOTE_NONE)
        ]


def read_runs(tsv: Path | None, run_json: tuple[Path, ...]) -> list[RunRecord]:
    """Return every run that the study names or that was made, joined by the run's directory."""
    found = {path.parent: optional_json(path) for path in run_json}
    made: dict[Path, dict[str, Any]] = {directory: run for directory, run in found.items() if run is not None}
    lines = _read_tsv(tsv)
    listed = {Path(line["run_dir"]) for line in lines if line.get("run_dir")}
    keys = ("task", "method", "seed", "fingerprint")
    lines += [
        {"run_dir": str(directory)} | {key: str(run.get(key, "")) for key in keys}
        for directory, run in made.items()
        if directory not in listed
    ]
    records = []
    for line in lines:
        run = made.get(Path(line["run_dir"])) if line.get("run_dir") else None
        state = "done" if run is not None else line.get("state") or "not made"
        records.append(RunRecord(line, state, run))
    return records


def notes(records: Iterable[RunRecord]) -> list[str]:
    """Return the notes on the runs that are done, and on their translations."""
    done = [one for one in records if one.made is not None]
    several = of_several_tasks(done)
    names = {
        Path(one.folder): Name(
            f"{one.label} ({one.line.get('task', '')})" if several else one.label,
            int(one.line["seed"]) if one.line.get("seed", "").isdigit() else None,
        )
        for one in done
    }
    translated = [Path(one.line["test_dir"], "hyp") for one in done if one.line.get("test_dir")]
    return notes_on([*(folder / RECORD for folder in names), *translated], names)


def of_several_tasks(records: Iterable[RunRecord]) -> bool:
    """Say whether the runs belong to more than one task."""
    return len({record.line.get("task") for record in records}) > 1


def missing(records: list[RunRecord]) -> list[tuple[str, str]]:
    """Return the runs that are not done, each with the reason."""
    several = of_several_tasks(records)
    return [
        (
            f"Run {record.name}" + (f" ({record.line.get('task', '')})" if several else ""),
            record.line.get("reason") or record.state,
        )
        for record in records
        if record.made is None
    ]


def machines(records: Iterable[RunRecord]) -> list[str]:
    """Return the machines that trained, each once."""
    made_by = [record.made.get("provenance") or {} for record in records if record.made is not None]
    return sorted({f"{one['cpu']}, {one.get('cores', '?')} cores" for one in made_by if one.get("cpu")})


def data_fingerprint(run: Mapping[str, Any]) -> str:
    """Return the fingerprint of the task that a run was trained on."""
    for place in (run, run.get("spec") or {}):
        for key in ("data_fingerprint", "task_fingerprint"):
            if isinstance(place.get(key), str):
                return str(place[key])
    return NONE


def table(records: list[RunRecord]) -> PlainTable:
    """Return all runs as a table; the name of one that is done leads to its block."""
    several = of_several_tasks(records)
    headers = ["System", *(["Task"] if several else []), "Seed", "Fingerprint", "State", "Updates", "Best at", "Time"]
    headers += ["Resumed", "Parameters", "Model sha256", "Data"]
    rows = [_row(record, several) for record in records]
    return PlainTable("Every run of this study", headers, rows, [header in NUMERIC for header in headers])


def _row(record: RunRecord, with_task: bool) -> list[Entry]:
    line, run = record.line, record.made
    seed = line.get("seed", "")
    start = [Entry(record.label, link=f"#{anchor(record.folder)}" if run is not None else "")]
    start += [Entry(line.get("task", ""))] if with_task else []
    start += [Entry(seed or NONE, float(seed) if seed.isdigit() else None)]
    start += [Entry(line.get("fingerprint", ""), code=True), Entry(record.state)]
    if run is None:
        return start + [Entry(NONE)] * 7
    seconds = run.get("seconds")
    return [
        *start,
        number(run.get("updates")),
        number(run.get("best_update")),
        Entry(duration(seconds), float(seconds)) if isinstance(seconds, int | float) else Entry(NONE),
        number(run.get("resumes")),
        number(run.get("num_parameters"), 2, 1e-6, " M"),
        Entry(str(run.get("model_sha256") or "")[:DIGEST] or NONE, code=True),
        Entry(data_fingerprint(run), code=True),
    ]
