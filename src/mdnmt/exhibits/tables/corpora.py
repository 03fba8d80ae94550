"""Build the table of a task's data: sentences of each domain in each split (Jiang et al. 2020, Table 1)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mdnmt.errors import DataError
from mdnmt.exhibits.grid import Cell, Grid, GridRow, Header, Reasons
from mdnmt.exhibits.published_cells import annotate, first_reason, with_published
from mdnmt.exhibits.specs import CorporaTableSpec, CorpusRow
from mdnmt.fsio import read_json
from mdnmt.numbers.rounding import thousands
from mdnmt.numbers.verdicts import judge_count

SPLITS = {"train": "Training", "valid": "Validation", "test": "Test"}


def build(spec: CorporaTableSpec) -> Grid:
    """Return the table of `spec`.

    Raises:
        DataError: a stats.json is invalid.
    """
    reasons, rows = Reasons(), []
    for row in spec.rows:
        counts = _counts(row)
        why = row.missing or (None if counts else "not made yet")
        marks = () if counts or why is None else (reasons.mark(why),)
        cells = tuple(_cell(spec, row, split, counts.get(split)) for split in SPLITS)
        rows.append(GridRow(group=row.group, label=row.label, method=row.domain, cells=cells, marks=marks))
    grid = Grid(
        kind="corpora",
        title=spec.full_title,
        where=spec.where,
        row_head="Domain",
        headers=tuple(
            Header(key=key, label=label, metric="sentences", group="Sentences", places=0)
            for key, label in SPLITS.items()
        ),
        rows=tuple(rows),
        reasons=tuple(reasons.texts),
        notes=spec.notes,
    )
    return annotate(grid)


def _cell(spec: CorporaTableSpec, row: CorpusRow, split: str, count: int | None) -> Cell:
    cell = Cell() if count is None else Cell(text=thousands(count), values=(float(count),), mean=float(count))
    printed = row.printed.get(split)
    differs = first_reason(spec.differs, spec.metric_differs.get(split), row.differs)
    return with_published(cell, printed, judge_count(count, printed, differs), percent=True)


def _counts(row: CorpusRow) -> dict[str, int]:
    """Return the sentences of each split, of one domain or summed over several; empty if the task is not made yet."""
    if row.stats is None:
        return {}
    domains = _domains(row.stats)
    names = row.sum_of or (row.domain,)
    for name in names:
        if name not in domains:
            raise DataError(f"{row.stats}: no domain {name}, found {', '.join(domains)}; make the task again")
    return {
        split: sum(int(domains[name][split]["sentences"]) for name in names)
        for split in SPLITS
        if all(split in domains[name] for name in names)
    }


def _domains(path: Path) -> dict[str, Any]:
    try:
        return dict(read_json(path)["domains"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(f"{path}: expected a stats.json with domains ({error}); make the task again") from error
