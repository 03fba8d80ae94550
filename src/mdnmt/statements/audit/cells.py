"""The names of cells: as config/audit/ writes them, and for a reader."""

from __future__ import annotations

import re

from mdnmt.config.audit import Cell
from mdnmt.config.published import Place
from mdnmt.errors import ConfigError


def cell_name(place: Place) -> str:
    """Return a cell as config/audit/ writes it: `table | row | column/metric`."""
    table, row, column, metric = place
    return f"{table} | {row} | {column}/{metric}"


def split_cell(cell: str) -> tuple[str, str, str]:
    """Return table, row and measure of `table | row | column/metric`.

    Raises:
        ConfigError: it has another form.
    """
    parts = cell.split(" | ")
    if len(parts) != 3 or "/" not in parts[2]:
        raise ConfigError(f"config/audit: found the cell {cell!r}, expected `table | row | column/metric`")
    return parts[0], parts[1], parts[2]


def other_paper(cell: Cell) -> str | None:
    """Return the paper that a cell names before a colon; None for a cell of the audited paper, or a number."""
    named = re.match(r"([a-z]+\d+): ", cell) if isinstance(cell, str) else None
    return named[1] if named else None


def split_measure(measure: str) -> tuple[str, str]:
    """Return column and metric of `column/metric`; the column itself may contain slashes."""
    column, _, metric = measure.rpartition("/")
    return column, metric


def readable_measure(measure: str) -> str:
    """Return a measure for a reader: `Avg. BLEU`, but `ChrF` if the column already names the metric."""
    column, metric = split_measure(measure)
    return column if column.strip("Δ").lower() in metric.lower() else f"{column} {metric}"


def readable(cell: str) -> str:
    """Return a cell for a reader: `Table 3, Baseline, Avg. BLEU`."""
    table, row, measure = split_cell(cell)
    return f"{re.sub(r'^T(?=[0-9]+$)', 'Table ', table)}, {row}, {readable_measure(measure)}"
