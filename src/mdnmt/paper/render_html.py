"""Draw a table as an HTML fragment: caption, scopes, groups as row groups, numbers that sort."""

from __future__ import annotations

from html import escape

from mdnmt.paper.grid import Cell, Grid, GridRow, groups, mark, spans


def _cell(cell: Cell) -> str:
    if cell.mean is None:
        return '<td class="none" data-sort=""><span aria-label="not available">\N{EN DASH}</span></td>'
    text = escape(cell.text)
    text = f"<strong>{text}</strong>" if cell.best else text
    if cell.star:
        text += '<sup class="star" title="significantly better than the baseline">*</sup>'
    if cell.spread is not None:
        text += f' <span class="spread">\N{PLUS-MINUS SIGN}{escape(cell.spread)}</span>'
    return f'<td data-sort="{cell.mean!r}">{text}</td>'


def _row(row: GridRow) -> str:
    marks = f'<sup class="mark">{", ".join(mark(index) for index in row.marks)}</sup>' if row.marks else ""
    cells = "".join(_cell(cell) for cell in row.cells)
    return f'<tr><th scope="row">{escape(row.label)}{marks}</th>{cells}</tr>'


def _head(grid: Grid) -> str:
    upper = "".join(
        f'<th scope="colgroup" colspan="{width}">{escape(label)}</th>' for label, width in spans(grid.headers)
    )
    lower = "".join(f'<th scope="col" data-sortable>{escape(header.label)}</th>' for header in grid.headers)
    return (
        f'<thead><tr><th scope="col" rowspan="2" data-sortable="text">System</th>{upper}</tr>\n<tr>{lower}</tr></thead>'
    )


def to_html(grid: Grid) -> str:
    """Return the table as a fragment without ids, scripts or styles of its own; every text of it is escaped.

    `data-sort` holds a number in full precision (empty: none), `data-sortable` marks heads that may be pressed.
    """
    columns = "".join(f'<colgroup span="{width}"></colgroup>' for _, width in spans(grid.headers))
    bodies = "\n".join(
        f'<tbody><tr class="group"><th scope="rowgroup" colspan="{len(grid.headers) + 1}">{escape(group)}</th></tr>\n'
        + "\n".join(_row(row) for row in rows)
        + "</tbody>"
        for group, rows in groups(grid.rows)
    )
    reasons = [f"<li><sup>{mark(index)}</sup> {escape(text)}</li>" for index, text in enumerate(grid.reasons)]
    notes = "\n".join([*reasons, *(f"<li>{escape(note)}</li>" for note in grid.notes)])
    listed = f'\n<ul class="notes">\n{notes}\n</ul>' if notes else ""
    return (
        f'<div class="result {grid.kind}">\n'
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(grid.title)}">\n<table>\n'
        f"<caption><span>{escape(grid.title)}</span></caption>\n<colgroup></colgroup>{columns}\n{_head(grid)}\n{bodies}\n</table>\n"
        f"</div>{listed}\n</div>\n"
    )
