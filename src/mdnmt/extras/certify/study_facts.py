"""The facts that a certificate states about a study, read from its bundle: runs, corpora, metrics and verdicts."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mdnmt import fsio
from mdnmt.errors import DataError
from mdnmt.escape import csv_cell
from mdnmt.exchange.bundle import RUNS, Bundle
from mdnmt.exchange.evidence import SPECS, recorded_at
from mdnmt.exhibits.grid import Grid
from mdnmt.exhibits.run_notes import Name, notes_on
from mdnmt.statements.claims.outcome import Outcomes
from mdnmt.studies.study import Study

VERDICT_COLUMNS = ("kind", "exhibit", "row", "column", "published", "ours", "difference", "verdict", "reason")


@dataclass(frozen=True)
class StudyFacts:
    """The facts that a certificate states about a study.

    Attributes:
        name: name of the study.
        title: title of the study.
        description: description of the study, in a sentence.
        runs: address -> the record of the run (run.json).
        corpora: name -> title, licence, homepage and redistributable.
        external: name -> label, provenance, redistributable and files (name -> sha256, by task) of each system that is
            not trained here.
        signatures: metric -> signatures of its scores.
        verdicts: one row for each cell and claim, with the columns `VERDICT_COLUMNS`.
        numbers: the table of numbers, as CSV.
        notes: runs that other code than this made, and packages that they do not share.
    """

    name: str
    title: str
    description: str
    runs: dict[str, dict[str, Any]]
    corpora: dict[str, dict[str, Any]]
    external: dict[str, dict[str, Any]]
    signatures: dict[str, list[str]]
    verdicts: list[dict[str, str]]
    numbers: str
    notes: tuple[str, ...] = ()

    def counts(self, kind: str) -> dict[str, int]:
        """Return verdict -> number of cells or claims (`kind`) that have it."""
        return dict(Counter(row["verdict"] for row in self.verdicts if row["kind"] == kind))

    def provenance(self, key: str) -> list[str]:
        """Return the sorted distinct values of a key in the runs' provenance."""
        found = {record.get("provenance", {}).get(key) for record in self.runs.values()}
        return sorted(str(value) for value in found if value is not None)

    def verdict_table(self) -> str:
        """Return the verdicts as CSV."""
        text = io.StringIO(newline="")
        table = csv.DictWriter(text, VERDICT_COLUMNS, lineterminator="\n")
        table.writeheader()
        table.writerows({key: csv_cell(value) for key, value in row.items()} for row in self.verdicts)
        return text.getvalue()


def read_facts(study: Study, bundle: Bundle, root: Path) -> StudyFacts:
    """Return the facts about a study that its bundle records.

    Args:
        study: the study as configured now; runs that the bundle lacks are left out.
        bundle: a bundle with the study.
        root: the folder into which the bundle was unpacked, with `results/` in it.

    Raises:
        DataError: the bundle has no run of the study as it is configured now, or a file is invalid.
    """
    addresses = [run.address for run in study.makeable() if run.address in bundle.runs]
    if not addresses:
        raise DataError(
            f"{bundle.folder}: has no run of study {study.name} as it is configured now; make the study first"
        )
    names = {
        root / "results" / RUNS / run.address: Name(f"{run.label} ({run.task})", run.seed)
        for run in study.makeable()
        if run.address in bundle.runs
    }
    own = root / "results" / study.name
    keys = {kind: list(specs) for kind, specs in fsio.read_json(own / SPECS)["specs"].items()}
    verdicts: list[dict[str, str]] = []
    for key in keys["tables"]:
        grid = fsio.read_json(root / recorded_at(study.name, "tables", key))
        verdicts += _cells(key, Grid.model_validate(grid))
    for paper in keys["claims"]:
        verdicts += _claims(Outcomes.model_validate(fsio.read_json(root / recorded_at(study.name, "claims", paper))))
    numbers = fsio.read_text(root / recorded_at(study.name, "numbers", "numbers"))
    signatures: dict[str, set[str]] = {}
    for row in csv.DictReader(io.StringIO(numbers, newline="")):
        if row["signature"]:
            signatures.setdefault(row["metric"], set()).add(row["signature"])
    tasks = dict.fromkeys(address.partition("/")[0] for address in addresses)
    corpora = {name: corpus for task in tasks for name, corpus in study.tasks[task].corpora.items()}
    shown = ("title", "licence", "homepage", "redistributable")
    return StudyFacts(
        name=study.name,
        title=study.config.title,
        description=study.config.description,
        runs={address: fsio.read_json(root / "results" / RUNS / address / "run.json") for address in addresses},
        corpora={name: {key: getattr(corpus, key) for key in shown} for name, corpus in sorted(corpora.items())},
        external=_external(study, tasks),
        signatures={metric: sorted(found) for metric, found in sorted(signatures.items())},
        verdicts=verdicts,
        numbers=numbers,
        notes=tuple(notes_on([folder / fsio.RECORD for folder in names], names)),
    )


def _external(study: Study, tasks: Collection[str]) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for output in study.external:
        if output.task in tasks:
            about = output.config.model_dump(mode="json", include={"label", "redistributable"})
            about["provenance"] = "; ".join(output.config.known)
            files = found.setdefault(output.system, {**about, "files": {}})["files"]
            files |= {f"{output.task}/{output.folder.name}/{name}": sha256 for name, sha256 in output.sums.items()}
    return found


def _cells(key: str, grid: Grid) -> list[dict[str, str]]:
    """Return a row for each cell of a table that has a published number."""
    rows = []
    for row in grid.rows:
        for header, cell in zip(grid.headers, row.cells, strict=True):
            judged = cell.judgement or grid.verdict
            if not cell.published_text or judged is None:
                continue
            column = " ".join(part for part in (header.group, header.label, header.metric) if part)
            rows.append(
                {
                    "kind": "cell", "exhibit": key, "row": row.label, "column": column,
                    "published": cell.published_text, "ours": _number(cell.mean),
                    "difference": _number(cell.difference), "verdict": judged.verdict, "reason": judged.reason,
                }
            )  # fmt: skip
    return rows


def _claims(outcomes: Outcomes) -> list[dict[str, str]]:
    """Return a row for each claim of a paper; `ours` is the number of its comparisons that hold."""
    return [
        {
            "kind": "claim", "exhibit": outcomes.paper, "row": one.id, "column": one.where, "published": one.says,
            "ours": f"{one.holds} of {one.of} comparisons hold", "difference": "", "verdict": one.verdict,
            "reason": one.reason,
        }
        for one in outcomes.outcomes
    ]  # fmt: skip


def _number(value: float | None) -> str:
    return "" if value is None else json.dumps(value)
