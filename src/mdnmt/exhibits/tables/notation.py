"""Table of symbols and their meanings (Song et al. 2026, Table 1)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal, Self

from mdnmt.exhibits.grid import Cell, Grid, GridRow, Header
from mdnmt.exhibits.registry import TableSpec, register

if TYPE_CHECKING:
    from mdnmt.exhibits.table_request import TableRequest

HEADERS = (
    Header(key="place", label="Section", metric="text", is_text=True),
    Header(key="meaning", label="Definition", metric="text", is_text=True),
)


@register
class NotationTable(TableSpec):
    """Symbols and their meanings."""

    depends_on_task: ClassVar = False
    kind: Literal["notation"] = "notation"
    lines: tuple[tuple[str, str, str], ...]  # symbol, place, meaning

    @classmethod
    def select(cls, request: TableRequest) -> Self:
        """Return the table of a study."""
        return cls(title=request.table.title, where=request.where, lines=request.table.notation)

    def inputs(self) -> list[Path]:
        """Return the files that the table is made from: none."""
        return []

    def build(self) -> Grid:
        """Return the table, a row per symbol."""
        rows = tuple(
            GridRow(group="", label=symbol, method="", cells=(Cell(text=place), Cell(text=meaning)))
            for symbol, place, meaning in self.lines
        )
        return Grid(
            kind="notation", title=self.full_title, where=self.where, row_head="Notation", headers=HEADERS, rows=rows
        )
