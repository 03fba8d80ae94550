"""Tell systems with the same label apart, by their names, within one table or figure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from mdnmt.exhibits.rows import ResourceRow, ScoreRow

if TYPE_CHECKING:
    from mdnmt.studies.study import Run

Row = TypeVar("Row", ScoreRow, ResourceRow)


def distinct_rows(*rows: Row) -> tuple[Row, ...]:
    """Return the rows of a table; where another system of the group has the same label, the name is added to it.

    Rows of one choice are alternatives for a single row of the table, so they may share their label.
    """
    owners: dict[tuple[str, str], set[str | int | None]] = {}
    for row in rows:
        owners.setdefault((row.group, row.label), set()).add(row.method if row.choice is None else row.choice)
    return tuple(
        row
        if row.choice is not None or len(owners[row.group, row.label]) == 1
        else row.model_copy(update={"label": f"{row.label} ({row.method})"})
        for row in rows
    )


def distinct_systems(systems: Sequence[list[Run]]) -> list[list[Run]]:
    """Return the runs of each system of a figure, relabelled in the same way."""
    labels = [runs[0].label for runs in systems]
    return [
        [replace(run, label=f"{run.label} ({run.row})") for run in runs] if labels.count(runs[0].label) > 1 else runs
        for runs in systems
    ]
