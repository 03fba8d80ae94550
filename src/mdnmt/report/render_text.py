"""Render a table as CSV and Markdown; LaTeX is in `mdnmt.report.render_latex`, HTML in `mdnmt.report.render_html`."""

from __future__ import annotations

import csv
import io

from mdnmt import escape
from mdnmt.exhibits.grid import Cell, Grid, Header, column_names, emphasised, groups, mark, reason_letters
from mdnmt.exhibits.published_cells import published_parts

CSV_FIELDS = (
    *("group", "label", "method", "column", "metric", "text", "mean", "sd", "n_seeds", "values", "p", "star"),
    *("published", "published_text", "published_note", "difference", "verdict", "reason", "missing"),
    *("delta", "low", "high", "over", "p_bootstrap", "p_sacrebleu", "p_randomisation", "p_seeds", "effect"),
    "agreement",
)


def _number(value: float | None) -> str:
    return "" if value is None else repr(float(value))


def to_csv(grid: Grid) -> str:
    """Return the table in long form, a line per number in full precision; `missing` says why a mean is empty."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(CSV_FIELDS)
    for row in grid.rows:
        why = "; ".join(grid.reasons[index] for index in row.marks)
        for header, cell in zip(grid.headers, row.cells, strict=True):
            absent = cell.mean is None and not (header.is_text and not row.marks)
            missing = (header.missing or why or "not available") if absent else ""
            values = ";".join(map(_number, cell.values))
            numbers = [_number(cell.mean), _number(cell.sd), cell.num_seeds, values, _number(cell.p), int(cell.star)]
            published = [_number(cell.published), cell.published_text, cell.published_note, _number(cell.difference)]
            judged = [cell.judgement.verdict, cell.judgement.reason] if cell.judgement else ["", ""]
            about = [row.group, row.label, row.method, header.key, header.metric, cell.text]
            line = [*about, *numbers, *published, *judged, missing, *_tested(cell)]
            writer.writerow([escape.csv_cell(part) if isinstance(part, str) else part for part in line])
    return buffer.getvalue()


def _tested(cell: Cell) -> list[str]:
    if (found := cell.tested) is None:
        return [_number(cell.delta), *[""] * 9]
    tests = [found.p_bootstrap, found.p_sacrebleu, found.p_randomisation, found.p_seeds, found.effect, found.agreement]
    return [*map(_number, (found.delta, found.low, found.high)), found.over, *map(_number, tests)]


def _markdown_cell(grid: Grid, header: Header, cell: Cell) -> str:
    if header.is_text:
        return emphasised(cell, escape.markdown, "**{}**")
    text = f"**{cell.text}**" if cell.best else escape.markdown(cell.text)
    spread = f" \N{PLUS-MINUS SIGN} {cell.spread}" if cell.spread is not None else ""
    found = [escape.markdown(part) for part in published_parts(grid, cell)]
    published = f" \\[{', '.join(found)}\\]" if found else ""
    marks = f" ({reason_letters(cell.marks)})" if cell.marks else ""
    return text + (r"\*" if cell.star else "") + spread + published + marks


def to_markdown(grid: Grid) -> str:
    """Return the table as GitHub Markdown: a line per system, its group in the first column."""
    labels = column_names(grid)
    grouped = any(row.group for row in grid.rows)
    lines = [
        f"**{escape.markdown(grid.full_title)}**",
        "",
        "| " + " | ".join([*([""] if grouped else []), grid.row_head, *map(escape.markdown, labels)]) + " |",
        "|---|" + "---|" * grouped + "".join("---|" if h.is_text else "---:|" for h in grid.headers),
    ]
    for group, rows in groups(grid.rows):
        for position, row in enumerate(rows):
            name = escape.markdown(row.label) + (f" ({reason_letters(row.marks)})" if row.marks else "")
            first = [escape.markdown(group) if position == 0 else ""] if grouped else []
            cells = [_markdown_cell(grid, header, cell) for header, cell in zip(grid.headers, row.cells, strict=True)]
            lines.append("| " + " | ".join([*first, name, *cells]) + " |")
    notes = [f"({mark(index)}) {escape.markdown(text)}" for index, text in enumerate(grid.reasons)]
    notes += [escape.markdown(note) for note in grid.notes]
    return "\n".join([*lines, "", *(f"- {note}" for note in notes)]).rstrip("\n") + "\n"
