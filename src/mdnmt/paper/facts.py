"""Turn statistics, runs and provenance into plain tables for the report."""

from __future__ import annotations

import csv
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mdnmt.fsio import read_json
from mdnmt.paper.numbers import duration, half_up, thousands
from mdnmt.paper.specs import Column

NONE = "\N{EN DASH}"
SPLITS = ("train", "valid", "test")
NUMERIC = {"Seed", "Updates", "Best at", "Time", "Resumed", "Parameters"}  # columns of the table of runs


@dataclass(frozen=True)
class Entry:
    """A cell of a plain table: what is shown and, for a number, what is sorted."""

    text: str
    sort: float | None = None
    code: bool = False


@dataclass(frozen=True)
class PlainTable:
    """A table without groups or stars; `numeric` says which columns are set to the right."""

    caption: str
    headers: list[str]
    rows: list[list[Entry]] = field(default_factory=list)
    numeric: list[bool] = field(default_factory=list)


def number(value: Any, places: int = 0, factor: float = 1.0, unit: str = "") -> Entry:
    """Return a cell for a number, a dash where it is None."""
    if not isinstance(value, int | float):
        return Entry(NONE)
    scaled = value * factor
    return Entry((thousands(scaled) if places == 0 else half_up(scaled, places)) + unit, scaled)


def optional_json(path: Path | None) -> Any:
    """Return the JSON of a file, None where there is no file."""
    return read_json(path) if path is not None and path.is_file() else None


def statistics(stats: dict[str, Any], domains: tuple[Column, ...]) -> PlainTable:
    """Return sentences, tokens and vocabulary of each domain and split (stats.json)."""
    measures = ("tokens", 0, 1.0, ""), ("types", 0, 1.0, ""), ("pieces_per_token", 2, 1.0, "")
    rates = ("oov_rate", 2, 100.0, "%"), ("unseen_word_rate", 1, 100.0, "%")
    names = ["tokens", "types", "pieces / token", "unknown words", "unseen words"]
    headers = ["Domain", "Split", "Sentences"]
    headers += [f"{side} {name}" for side in ("Source", "Target") for name in names]
    table = PlainTable(
        "Sentences, words and vocabulary by domain and split", headers, numeric=[False, False] + [True] * 11
    )
    for domain in domains:
        splits = stats.get("domains", {}).get(domain.name, {})
        for split in SPLITS:
            if split not in splits:
                continue
            row = [Entry(domain.label), Entry(split), number(splits[split].get("sentences"))]
            for side in ("source", "target"):
                found = splits[split].get(side, {})
                row += [number(found.get(key), places, factor, unit) for key, places, factor, unit in measures + rates]
            table.rows.append(row)
    return table


def leakage(found: dict[str, Any], domains: tuple[Column, ...]) -> PlainTable:
    """Return how many training sentences were held out as well, and how many are left.

    `Near` counts held-out sentences to which a training sentence, of what is left, is similar.
    """
    headers = ["Domain", "Split", "Same source", "Same target", "Same pair", "Removed", "Left"]
    headers += ["Near source", "Near target"]
    table = PlainTable("Training sentences that are also held out", headers, numeric=[False, False] + [True] * 7)
    for domain in domains:
        for split, counts in found.get("domains", {}).get(domain.name, {}).items():
            keys = ("source", "target", "pair", "removed", "left")
            near = counts.get("near", {})
            values = [*(counts.get(key) for key in keys), near.get("source"), near.get("target")]
            table.rows.append([Entry(domain.label), Entry(split), *map(number, values)])
    return table


@dataclass(frozen=True)
class Runs:
    """All runs of the study: the table, how many are done, the seeds, the time spent, those that are missing."""

    table: PlainTable
    done: int
    total: int
    seeds: list[int]
    seconds: float
    machines: list[str]
    missing: list[tuple[str, str]]


def _read_tsv(path: Path | None) -> list[dict[str, str]]:
    if path is None or not path.is_file():
        return []
    with path.open(encoding="utf-8", newline="") as handle:
        return [
            {key: value or "" for key, value in row.items() if key}
            for row in csv.DictReader(handle, delimiter="\t", quoting=csv.QUOTE_NONE)
        ]


def _data_fingerprint(run: dict[str, Any]) -> str:
    for place in (run, run.get("spec") or {}):
        for key in ("data_fingerprint", "task_fingerprint"):
            if isinstance(place.get(key), str):
                return str(place[key])
    return NONE


def _run_row(task: str | None, line: dict[str, str], state: str, run: dict[str, Any] | None) -> list[Entry]:
    label, seed = line.get("label") or line.get("method", ""), line.get("seed", "")
    seeded = Entry(seed or NONE, float(seed) if seed.isdigit() else None)
    start = [Entry(label), *([] if task is None else [Entry(task)]), seeded]
    start += [Entry(line.get("fingerprint", ""), code=True), Entry(state)]
    if run is None:
        return start + [Entry(NONE)] * 7
    seconds = run.get("seconds")
    time = Entry(duration(seconds), float(seconds)) if isinstance(seconds, int | float) else Entry(NONE)
    digest = str(run.get("model_sha256") or "")
    return [
        *start,
        number(run.get("updates")),
        number(run.get("best_update")),
        time,
        number(run.get("resumes")),
        number(run.get("num_parameters"), 2, 1e-6, " M"),
        Entry(digest[:12] or NONE, code=True),
        Entry(_data_fingerprint(run), code=True),
    ]


def runs(tsv: Path | None, run_json: tuple[Path, ...]) -> Runs:
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
    several = len({line.get("task") for line in lines}) > 1
    rows, missing, done = [], [], 0
    for line in lines:
        run_dir, task = line.get("run_dir"), line.get("task", "") if several else None
        run = made.get(Path(run_dir)) if run_dir else None
        state = "done" if run is not None else line.get("state") or "not made"
        done += state == "done"
        if state != "done":
            what = f"{line.get('label') or line.get('method')}, seed {line.get('seed')}"
            missing.append((f"Run {what}" + (f" ({task})" if task else ""), line.get("reason") or state))
        rows.append(_run_row(task, line, state, run))
    headers = ["System", *(["Task"] if several else []), "Seed", "Fingerprint", "State", "Updates", "Best at", "Time"]
    headers += ["Resumed", "Parameters", "Model sha256", "Data"]
    numeric = [header in NUMERIC for header in headers]
    machines = []
    for run in made.values():
        made_by = run.get("provenance") or {}
        if made_by.get("cpu"):
            machines.append(f"{made_by['cpu']}, {made_by.get('cores', '?')} cores")
    return Runs(
        table=PlainTable("Every run of this study", headers, rows, numeric),
        done=done,
        total=len(rows),
        seeds=sorted({int(run["seed"]) for run in made.values() if isinstance(run.get("seed"), int)}),
        seconds=sum(float(run.get("seconds") or 0.0) for run in made.values()),
        machines=sorted(set(machines)),
        missing=missing,
    )
