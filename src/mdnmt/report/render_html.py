"""Render a table as an HTML fragment with a caption, scopes, row groups and sortable columns."""

from __future__ import annotations

from collections.abc import Mapping

from markupsafe import Markup

from mdnmt.escape import html as escape
from mdnmt.exhibits.grid import Cell, Grid, column_names, emphasised, groups, mark, reason_letters, spans
from mdnmt.exhibits.published_cells import judged_cells, published_parts
from mdnmt.exhibits.significance_stars import HEADS, columns, in_words
from mdnmt.report.templates import environment


def to_html(grid: Grid, links: Mapping[str, str] | None = None) -> str:
    """Return the table as a fragment, with all its text escaped.

    Args:
        grid: the table.
        links: folder of a run -> address of its details; each row links to its runs.
    """
    return (
        environment("mdnmt.report")
        .get_template("table.html.j2")
        .render(
            grid=grid,
            links=links or {},
            groups=groups(grid.rows),
            spans=spans(grid.headers),
            comparison_heads=list(HEADS),
            comparisons=_comparisons(grid),
            verdicts=_verdicts(grid),
            emphasised=_emphasised,
            in_words=in_words,
            mark=mark,
            published_parts=published_parts,
            reason_letters=reason_letters,
        )
    )


def _emphasised(cell: Cell) -> Markup:
    return Markup(emphasised(cell, escape, "<strong>{}</strong>"))


def _comparisons(grid: Grid) -> list[tuple[str, ...]]:
    """Return a line for each comparison with the baseline: row, column, then the results of all tests."""
    names = column_names(grid)
    return [
        (row.label, name, *columns(cell.tested, f"{cell.verdict or ''}{'*' if cell.star else ''}"))
        for row in grid.rows
        for name, cell in zip(names, row.cells, strict=True)
        if cell.tested is not None
    ]


def _verdicts(grid: Grid) -> list[tuple[str, ...]]:
    """Return a line for each verdict: row, column, both numbers, their difference, the verdict and its reason."""
    return [
        (system, column, cell.text, cell.published_text, cell.difference_text, found.verdict, found.reason)
        for system, column, cell, found in judged_cells(grid)
    ]
