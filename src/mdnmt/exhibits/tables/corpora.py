"""Table of a task's data: sentences of each domain in each split (Jiang et al. 2020, Table 1)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from pydantic import Field

from mdnmt.config.base import Frozen
from mdnmt.exhibits.grid import Cell, Grid, GridRow, Header, Reasons
from mdnmt.exhibits.published_cells import annotate, first_reason, with_published
from mdnmt.exhibits.registry import ComparedTableSpec, register
from mdnmt.fsio import read_json
from mdnmt.numbers.rounding import thousands
from mdnmt.numbers.verdicts import Printed, judge_count

if TYPE_CHECKING:
    from mdnmt.exhibits.table_request import TableRequest

TOTAL = "total"

SPLITS = {"train": "Training", "valid": "Validation", "test": "Test"}


class CorpusRow(Frozen):
    """A domain of a task as a row: how many sentences each split has."""

    group: str = ""
    label: str
    domain: str  # its key in stats.json
    sum_of: tuple[str, ...] = ()  # a row of sums: the keys of the domains that are added
    stats: Path | None = None
    missing: str | None = None
    differs: str | None = None
    printed: dict[str, Printed] = Field({})  # train, valid, test -> the published number


@register
class CorporaTable(ComparedTableSpec):
    """The data of a task: sentences of each domain in training, validation and test text."""

    kind: Literal["corpora"] = "corpora"
    rows: tuple[CorpusRow, ...]
    notes: tuple[str, ...] = ()

    @classmethod
    def select(cls, request: TableRequest) -> Self:
        """Return the table of a study."""
        task, table = request.task, request.table
        stats = request.file(f"{request.places.task(task.name)}/stats.json") if task.spec is not None else None
        found: dict[str, Any] = {"stats": stats, "missing": request.why_missing(stats)}
        rows = [
            CorpusRow(
                label=column.label,
                domain=column.name,
                differs=column.differs,
                printed=request.printed.sentences(column.name),
                **found,
            )
            for column in request.columns
        ]
        if table.total:
            whys = dict.fromkeys(column.differs for column in request.columns if column.differs)
            rows.append(
                CorpusRow(
                    label="Total",
                    domain=TOTAL,
                    sum_of=tuple(column.name for column in request.columns),
                    differs="; ".join(whys) or None,
                    printed=request.printed.sentences(TOTAL),
                    **found,
                )
            )
        return cls(**request.common, **request.compared_with_print, rows=tuple(rows))

    def inputs(self) -> list[Path]:
        """Return the files that the table is made from."""
        return [row.stats for row in self.rows if row.stats]

    def needs(self) -> tuple[CorpusRow, ...]:
        """Return its rows."""
        return self.rows

    @property
    def cells_of_row(self) -> int:
        """Return how many cells a row has."""
        return len(SPLITS)

    def build(self) -> Grid:
        """Return the table.

        Raises:
            DataError: a stats.json is damaged.
        """
        reasons, rows = Reasons(), []
        for row in self.rows:
            counts = _counts(row)
            why = row.missing or (None if counts else "not made yet")
            marks = () if counts or why is None else (reasons.mark(why),)
            cells = tuple(_cell(self, row, split, counts.get(split)) for split in SPLITS)
            rows.append(GridRow(group=row.group, label=row.label, method=row.domain, cells=cells, marks=marks))
        grid = Grid(
            kind="corpora",
            title=self.full_title,
            where=self.where,
            row_head="Domain",
            headers=tuple(
                Header(key=key, label=label, metric="sentences", group="Sentences", places=0)
                for key, label in SPLITS.items()
            ),
            rows=tuple(rows),
            reasons=tuple(reasons.texts),
            notes=self.notes,
        )
        return annotate(grid)


def _cell(spec: CorporaTable, row: CorpusRow, split: str, count: int | None) -> Cell:
    cell = Cell() if count is None else Cell(text=thousands(count), values=(float(count),), mean=float(count))
    printed = row.printed.get(split)
    differs = first_reason(spec.differs, spec.metric_differs.get(split), row.differs)
    return with_published(cell, printed, judge_count(count, printed, differs), percent=True)


def _counts(row: CorpusRow) -> dict[str, int]:
    """Return the sentences of each split, of one domain or summed over several; empty if the task is not made yet."""
    if row.stats is None:
        return {}
    domains = read_json(row.stats)["domains"]
    names = row.sum_of or (row.domain,)
    return {
        split: sum(domains[name][split]["sentences"] for name in names)
        for split in SPLITS
        if all(split in domains[name] for name in names)
    }
