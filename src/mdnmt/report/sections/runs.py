"""Read every run of a study and its state, and make the table of runs."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mdnmt.errors import DataError
from mdnmt.exhibits.run_notes import Name, notes_on
from mdnmt.fsio import RECORD
from mdnmt.numbers.rounding import duration
from mdnmt.report.plain_tables import NONE, Entry, PlainTable, number, optional_json
from mdnmt.report.runs_table import COLUMNS

NUMERIC = {"Seed", "Updates", "Best at", "Time", "Resumed", "Parameters"}  # columns of the table of runs
DIGEST = 12  # characters of a checksum in the table; the whole checksum is shown with the run


@dataclass(frozen=True)
class RunRecord:
    """A run that the study names.

    Attributes:
        line: its line of runs.tsv.
        made: its run.json; None if it is not done.
    """

    line: dict[str, str]
    made: dict[str, Any] | None

    @property
    def folder(self) -> str:
        """Return its folder, as the study names it; empty if it cannot be made."""
        return self.line["run_dir"]

    @property
    def state(self) -> str:
        """Return how far it is: done, begun, to do or missing."""
        return "done" if self.made is not None else self.line["state"]

    @property
    def name(self) -> str:
        """Return system and seed in words."""
        return f"{self.line['label']}, seed {self.line['seed']}"


def anchor(folder: str | Path) -> str:
    """Return the id of a run's block: `run-demo-en-fr-mixed-seed1-b02da8b0` of the folder of that name."""
    return "-".join(["run", *(re.sub(r"[^A-Za-z0-9_-]+", "-", part) for part in Path(folder).parts[-3:])])


def links(records: Iterable[RunRecord]) -> dict[str, str]:
    """Return folder -> address on the page, of all runs that are done."""
    return {record.folder: f"#{anchor(record.folder)}" for record in records if record.made is not None}


def read_runs(tsv: Path | None) -> list[RunRecord]:
    """Return every run that the study names.

    Raises:
        DataError: the list was edited.
    """
    if tsv is None or not tsv.is_file():
        return []
    with tsv.open(encoding="utf-8", newline="") as handle:
        lines = list(csv.DictReader(handle, delimiter="\t", quoting=csv.QUOTE_NONE))
    if not all({*COLUMNS} <= line.keys() and (line["seed"] or "").isdecimal() for line in lines):
        raise DataError(f"{tsv}: was edited; remove it and start snakemake again, which makes it")
    return [
        RunRecord(line, optional_json(Path(line["run_dir"], RECORD)) if line["run_dir"] else None) for line in lines
    ]


def notes(records: Iterable[RunRecord]) -> list[str]:
    """Return the notes on the runs that are done, and on their translations."""
    done = [one for one in records if one.made is not None]
    several = of_several_tasks(done)
    names = {
        Path(one.folder): Name(
            f"{one.line['label']} ({one.line['task']})" if several else one.line["label"], int(one.line["seed"])
        )
        for one in done
    }
    translated = [Path(one.line["test_dir"], "hyp") for one in done]
    return notes_on([*(folder / RECORD for folder in names), *translated], names)


def of_several_tasks(records: Iterable[RunRecord]) -> bool:
    """Say whether the runs belong to more than one task."""
    return len({record.line["task"] for record in records}) > 1


def missing(records: list[RunRecord]) -> list[tuple[str, str]]:
    """Return the runs that are not done, each with the reason."""
    several = of_several_tasks(records)
    return [
        (
            f"Run {record.name}" + (f" ({record.line['task']})" if several else ""),
            record.line["reason"] or record.state,
        )
        for record in records
        if record.made is None
    ]


def machines(records: Iterable[RunRecord]) -> list[str]:
    """Return the machines that trained, each once."""
    made_by = [record.made.get("provenance") or {} for record in records if record.made is not None]
    return sorted({f"{one['cpu']}, {one.get('cores', '?')} cores" for one in made_by if one.get("cpu")})


def table(records: list[RunRecord]) -> PlainTable:
    """Return all runs as a table; the name of one that is done leads to its block."""
    several = of_several_tasks(records)
    headers = ["System", *(["Task"] if several else []), "Seed", "Fingerprint", "State", "Updates", "Best at", "Time"]
    headers += ["Resumed", "Parameters", "Model sha256", "Data"]
    rows = [_row(record, several) for record in records]
    return PlainTable("Every run of this study", headers, rows, [header in NUMERIC for header in headers])


def _row(record: RunRecord, with_task: bool) -> list[Entry]:
    line, run = record.line, record.made
    start = [Entry(line["label"], link=f"#{anchor(record.folder)}" if run is not None else "")]
    start += [Entry(line["task"])] if with_task else []
    start += [Entry(line["seed"], float(line["seed"]))]
    start += [Entry(line["fingerprint"], code=True), Entry(record.state)]
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
        Entry(run["spec"]["task_fingerprint"], code=True),
    ]
