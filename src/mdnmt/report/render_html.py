"""Draw a table as an HTML fragment: caption, scopes, groups as row groups, numbers that sort."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mdnmt.escape import html as escape
from mdnmt.exhibits.grid import (
    Cell,
    Grid,
    GridRow,
    Header,
    column_names,
    emphasised,
    groups,
    mark,
    reason_letters,
    spans,
)
from mdnmt.exhibits.published_cells import SIGNS, judged_cells, published_parts
from mdnmt.exhibits.significance_stars import HEADS, columns, in_words

Links = Mapping[str, str]


def _marks(marks: tuple[int, ...]) -> str:
    return f'<sup class="mark">{reason_letters(marks)}</sup>' if marks else ""


def _cell(grid: Grid, header: Header, cell: Cell) -> str:
    if header.is_text:
        return f'<td class="text">{emphasised(cell, escape, "<strong>{}</strong>")}</td>'
    published = _published(grid, cell)
    if cell.mean is None:
        none = '<span aria-label="not available">\N{EN DASH}</span>'
        return f'<td class="none" data-sort="">{none}{published}</td>'
    text = escape(cell.text)
    text = f"<strong>{text}</strong>" if cell.best else text
    if cell.star:
        explanation = (
            in_words(cell.tested, grid.baseline_label) if cell.tested else "significantly better than the baseline"
        )
        text += f'<sup class="star" title="{escape(explanation)}">*</sup>'
    if cell.spread is not None:
        text += f' <span class="spread">\N{PLUS-MINUS SIGN}{escape(cell.spread)}</span>'
    return f'<td data-sort="{cell.mean!r}">{text}{published}</td>'


def _published(grid: Grid, cell: Cell) -> str:
    """Return the second line of a cell: the published number, the difference, the verdict as a sign with its words."""
    parts = [escape(part) for part in published_parts(grid, cell)]
    if not parts:
        return ""
    if cell.judgement is not None and grid.verdict is None:
        verdict, reason = cell.judgement.verdict, escape(cell.judgement.reason)
        kind = verdict.replace(" ", "-")
        parts[-1] = (
            f'<span class="verdict {kind}" role="img" aria-label="{verdict}" title="{verdict}: {reason}">'
            f"{SIGNS[verdict]}</span>"
        )
    return f'<br><small class="published">{" ".join(parts)}{_marks(cell.marks)}</small>'


def _row(grid: Grid, row: GridRow, links: Links) -> str:
    name = escape(row.label) + _marks(row.marks) + _runs(row, links)
    cells = "".join(_cell(grid, header, cell) for header, cell in zip(grid.headers, row.cells, strict=True))
    return f'<tr><th scope="row">{name}</th>{cells}</tr>'


def _runs(row: GridRow, links: Links) -> str:
    """Return the second line of a row's name: a link to each of its runs."""
    found = [(run.seed, links[run.folder]) for run in row.runs if run.folder in links]
    if not found:
        return ""
    listed = " ".join(
        f'<a href="{escape(link)}" aria-label="run of {escape(row.label)}'
        + ('">run</a>' if seed is None else f', seed {seed}">{seed}</a>')
        for seed, link in found
    )
    several = "" if found[0][0] is None else "seed " if len(found) == 1 else "seeds "
    return f'<br><small class="runs">{several}{listed}</small>'


def _head(grid: Grid) -> str:
    upper = "".join(
        f'<th scope="colgroup" colspan="{width}">{escape(label)}</th>' for label, width in spans(grid.headers)
    )
    lower = "".join(
        f'<th scope="col" class="text">{escape(header.label)}</th>'
        if header.is_text
        else f'<th scope="col" data-sortable>{escape(header.label)}</th>'
        for header in grid.headers
    )
    # The order of sentences is meaningful, so their columns cannot be sorted.
    sortable = "" if all(header.is_text for header in grid.headers) else ' data-sortable="text"'
    if not any(header.group for header in grid.headers):
        return f'<thead><tr><th scope="col"{sortable}>{escape(grid.row_head)}</th>{lower}</tr></thead>'
    corner = f'<th scope="col" rowspan="2"{sortable}>{escape(grid.row_head)}</th>'
    return f"<thead><tr>{corner}{upper}</tr>\n<tr>{lower}</tr></thead>"


def _body(grid: Grid, group: str, rows: list[GridRow], links: Links) -> str:
    head = f'<tr class="group"><th scope="rowgroup" colspan="{len(grid.headers) + 1}">{escape(group)}</th></tr>\n'
    return "<tbody>" + (head if group else "") + "\n".join(_row(grid, row, links) for row in rows) + "</tbody>"


def to_html(grid: Grid, links: Links | None = None) -> str:
    """Return the table as a fragment without ids, scripts or styles of its own; every text of it is escaped.

    `data-sort` holds a number in full precision (empty: none), `data-sortable` marks heads that may be pressed.

    Args:
        grid: the table.
        links: folder of a run -> address of what is known of it; each row leads to its runs.
    """
    columns = "".join(f'<colgroup span="{width}"></colgroup>' for _, width in spans(grid.headers))
    bodies = "\n".join(_body(grid, group, rows, links or {}) for group, rows in groups(grid.rows))
    reasons = [f"<li><sup>{mark(index)}</sup> {escape(text)}</li>" for index, text in enumerate(grid.reasons)]
    notes = "\n".join([*reasons, *(f"<li>{escape(note)}</li>" for note in grid.notes)])
    listed = f'\n<ul class="notes">\n{notes}\n</ul>' if notes else ""
    title = escape(grid.full_title)
    return (
        f'<div class="result {grid.kind}">\n'
        f'<div class="scroll" tabindex="0" role="region" aria-label="{title}">\n<table>\n'
        f"<caption><span>{title}</span></caption>\n<colgroup></colgroup>{columns}\n{_head(grid)}\n{bodies}\n</table>\n"
        f"</div>{listed}{_comparisons(grid)}{_verdicts(grid)}\n</div>\n"
    )


def _comparisons(grid: Grid) -> str:
    """Return each comparison with the baseline, by all tests, folded; empty where there is none."""
    names = column_names(grid)
    tested = [
        (row.label, name, cell)
        for row in grid.rows
        for name, cell in zip(names, row.cells, strict=True)
        if cell.tested is not None
    ]
    rows = [
        (label, (name, *columns(cell.tested, f"{cell.verdict or ''}{'*' if cell.star else ''}")))
        for label, name, cell in tested
        if cell.tested is not None
    ]
    baseline = grid.baseline_label or "the baseline"
    summary = f"The {len(rows)} comparisons with {baseline}: differences, intervals, p-values"
    return _folded(grid, "comparisons", summary, (grid.row_head, "Column", *HEADS), rows) if rows else ""


def _verdicts(grid: Grid) -> str:
    """Return the verdict of each number with its reason, folded; empty where the whole table has one."""
    judged = judged_cells(grid)
    if not judged:
        return ""
    heads = (grid.row_head, "Column", "Ours", "Published", "Difference", "Verdict", "Reason")
    rows = [
        (system, (column, cell.text, cell.published_text, cell.difference_text, found.verdict, found.reason))
        for system, column, cell, found in judged
    ]
    return _folded(grid, "verdicts", f"The {len(judged)} verdicts, each with its reason", heads, rows)


def _folded(
    grid: Grid, kind: str, summary: str, heads: Sequence[str], rows: Sequence[tuple[str, Sequence[str]]]
) -> str:
    """Return a plain table below the table, folded; the last column is read from the left."""
    head = "".join(f'<th scope="col" data-sortable="text">{escape(text)}</th>' for text in heads)
    body = "\n".join(
        f'<tr><th scope="row">{escape(first)}</th>'
        + "".join(f"<td>{escape(text)}</td>" for text in texts[:-1])
        + f'<td class="text">{escape(texts[-1])}</td></tr>'
        for first, texts in rows
    )
    title = f"{kind.capitalize()}: {escape(grid.full_title)}"
    return (
        f'\n<details class="{kind}">\n<summary>{escape(summary)}</summary>\n'
        f'<div class="scroll" tabindex="0" role="region" aria-label="{title}">\n<table class="plain">\n'
        f"<caption><span>{title}</span></caption>\n<thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody>\n</table>\n</div>\n"
        "</details>"
    )
