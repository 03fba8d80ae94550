"""Render a table as LaTeX in the papers' layout: booktabs, best in bold, stars, published numbers below ours."""

from __future__ import annotations

from mdnmt import escape
from mdnmt.exhibits.grid import Cell, Grid, GridRow, Header, emphasised, groups, mark, reason_letters, spans
from mdnmt.exhibits.published_cells import published_parts

# A table with more columns spans the page and is scaled to its width.
WIDE = 8
# Characters of notes in print, about four lines. Those that explain the marks come first; what does not fit the rest of
# the space is a comment in the file.
PRINTED = 500


def _marks(marks: tuple[int, ...]) -> str:
    return rf"$^{{\mathrm{{{reason_letters(marks)}}}}}$" if marks else ""


def _cell(header: Header, cell: Cell) -> str:
    if header.is_text:
        return emphasised(cell, escape.latex, r"\textbf{{{}}}")
    text = escape.latex(cell.text)
    text = rf"\textbf{{{text}}}" if cell.best else text
    star = "$^{*}$" if cell.star else ""
    return text + star + (rf" {{\scriptsize$\pm${cell.spread}}}" if cell.spread is not None else "")


def _beside(grid: Grid, cell: Cell) -> str:
    """Return the published number with difference and verdict, for the line below our number."""
    parts = [escape.latex(part) for part in published_parts(grid, cell)]
    return rf"{{\scriptsize {' '.join(parts)}{_marks(cell.marks)}}}" if parts else ""


def _row(grid: Grid, row: GridRow) -> list[str]:
    name = escape.latex(row.label) + _marks(row.marks)
    cells = [_cell(header, cell) for header, cell in zip(grid.headers, row.cells, strict=True)]
    lines = [" & ".join([name, *cells]) + r" \\"]
    below = [_beside(grid, cell) for cell in row.cells]
    if any(below):
        lines.append(" & ".join([r"\quad{\scriptsize published}", *below]) + r" \\")
    return lines


def _head(grid: Grid) -> list[str]:
    upper, rules, column = [], [], 2
    for label, width in spans(grid.headers):
        upper.append(rf"\multicolumn{{{width}}}{{c}}{{{escape.latex(label)}}}")
        rules.append(rf"\cmidrule(lr){{{column}-{column + width - 1}}}")
        column += width
    lower = " & ".join([escape.latex(grid.row_head), *(escape.latex(header.label) for header in grid.headers)])
    if not any(header.group for header in grid.headers):
        return [rf"{lower} \\"]
    return [" & ".join(["", *upper]) + r" \\", " ".join(rules), rf"{lower} \\"]


def _columns(grid: Grid) -> str:
    texts = sum(header.is_text for header in grid.headers)
    wide = rf"p{{{0.75 / texts:.2f}\linewidth}}" if texts else ""
    return "l" + "".join(wide if header.is_text else "r" for header in grid.headers)


def to_latex(grid: Grid, name: str = "") -> str:
    r"""Return the table as a LaTeX `table` with booktabs rules; its first line names the packages it needs.

    Args:
        grid: the table.
        name: of its file, for `\label{tab:<name>}`; "": no label.
    """
    wide = len(grid.headers) > WIDE
    environment = "table*" if wide else "table"
    lines = [
        r"% needs \usepackage{booktabs}" + (r" and \usepackage{graphicx}" if wide else ""),
        rf"\begin{{{environment}}}[t]",
        r"\centering\small",
        rf"\caption{{{escape.latex(grid.full_title)}}}",
        *([rf"\label{{tab:{name}}}"] if name else []),
        *([r"\resizebox{\linewidth}{!}{%"] if wide else []),
        rf"\begin{{tabular}}{{{_columns(grid)}}}",
        r"\toprule",
        *_head(grid),
    ]
    for group, rows in groups(grid.rows):
        lines.append(r"\midrule")
        if group:
            lines.append(rf"\multicolumn{{{len(grid.headers) + 1}}}{{l}}{{\emph{{{escape.latex(group)}}}}} \\")
        for row in rows:
            lines += _row(grid, row)
    lines += [r"\bottomrule", r"\end{tabular}" + ("}" if wide else "")]
    notes = [rf"$^{{\mathrm{{{mark(index)}}}}}$ {escape.latex(text)}\par" for index, text in enumerate(grid.reasons)]
    room, rest = PRINTED, []
    for note in grid.notes:
        text = rf"{escape.latex(note)}\par"
        if len(note) <= room or note.startswith("Caution"):
            notes.append(text)
            room -= len(note)
        else:
            rest.append(f"% {text}")
    if notes:
        lines += ["", r"\medskip", r"\begin{minipage}{\linewidth}\footnotesize", *notes, r"\end{minipage}"]
    lines += rest
    return "\n".join([*lines, rf"\end{{{environment}}}"]) + "\n"
