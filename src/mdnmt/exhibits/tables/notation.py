"""Build the table of symbols and their meanings (Song et al. 2026, Table 1)."""

from __future__ import annotations

from mdnmt.exhibits.grid import Cell, Grid, GridRow, Header
from mdnmt.exhibits.specs import NotationTableSpec

HEADERS = (
    Header(key="place", label="Section", metric="text", is_text=True),
    Header(key="meaning", label="Definition", metric="text", is_text=True),
)


def build(spec: NotationTableSpec) -> Grid:
    """Return the table of `spec`, a row per symbol."""
    rows = tuple(
        GridRow(group="", label=symbol, method="", cells=(Cell(text=place), Cell(text=meaning)))
        for symbol, place, meaning in spec.lines
    )
    return Grid(
        kind="notation", title=spec.full_title, where=spec.where, row_head="Notation", headers=HEADERS, rows=rows
    )
