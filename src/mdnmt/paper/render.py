"""Draw a table as CSV, Markdown and LaTeX; HTML is in `mdnmt.paper.render_html`."""

from __future__ import annotations

import csv
import io

from mdnmt.paper import escape
from mdnmt.paper.grid import Cell, Grid, GridRow, groups, mark, spans

CSV_FIELDS = ("group", "label", "method", "column", "metric", "mean", "sd", "n_seeds", "p", "star", "missing")


def _number(value: float | None) -> str:
    return "" if value is None else repr(float(value))


def to_csv(grid: Grid) -> str:
    """Return the table in long form, a line a number, in full precision; `missing` is the reason for an empty mean."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(CSV_FIELDS)
    for row in grid.rows:
        why = "; ".join(grid.reasons[index] for index in row.marks)
        for header, cell in zip(grid.headers, row.cells, strict=True):
            missing = why or "not available" if cell.mean is None else ""
            numbers = [_number(cell.mean), _number(cell.sd), cell.num_seeds, _number(cell.p), int(cell.star)]
            writer.writerow([row.group, row.label, row.method, header.key, header.metric, *numbers, missing])
    return buffer.getvalue()


def _marks(row: GridRow) -> str:
    return ", ".join(mark(index) for index in row.marks)


def _markdown_cell(cell: Cell) -> str:
    text = f"**{cell.text}**" if cell.best else escape.markdown(cell.text)
    spread = f" \N{PLUS-MINUS SIGN} {cell.spread}" if cell.spread is not None else ""
    return text + (r"\*" if cell.star else "") + spread


def to_markdown(grid: Grid) -> str:
    """Return the table as GitHub Markdown: a line a system, its group in the first column."""
    several = len(spans(grid.headers)) > 1
    labels = [f"{h.group} {h.label}" if several and grid.kind != "resources" else h.label for h in grid.headers]
    lines = [
        f"**{escape.markdown(grid.title)}**",
        "",
        "| " + " | ".join(["", "System", *(escape.markdown(label) for label in labels)]) + " |",
        "|---|---|" + "---:|" * len(labels),
    ]
    for group, rows in groups(grid.rows):
        for position, row in enumerate(rows):
            name = escape.markdown(row.label) + (f" ({_marks(row)})" if row.marks else "")
            first = escape.markdown(group) if position == 0 else ""
            lines.append("| " + " | ".join([first, name, *map(_markdown_cell, row.cells)]) + " |")
    notes = [f"({mark(index)}) {escape.markdown(text)}" for index, text in enumerate(grid.reasons)]
    notes += [escape.markdown(note) for note in grid.notes]
    return "\n".join([*lines, "", *(f"- {note}" for note in notes)]).rstrip("\n") + "\n"


def _latex_cell(cell: Cell) -> str:
    text = escape.latex(cell.text)
    text = rf"\textbf{{{text}}}" if cell.best else text
    star = "$^{*}$" if cell.star else ""
    return text + star + (rf" {{\scriptsize$\pm${cell.spread}}}" if cell.spread is not None else "")


def to_latex(grid: Grid) -> str:
    r"""Return the table as a LaTeX `table` with booktabs rules (`\usepackage{booktabs}`)."""
    head, rules, column = [], [], 2
    for label, width in spans(grid.headers):
        head.append(rf"\multicolumn{{{width}}}{{c}}{{{escape.latex(label)}}}")
        rules.append(rf"\cmidrule(lr){{{column}-{column + width - 1}}}")
        column += width
    lines = [
        r"% needs \usepackage{booktabs}",
        r"\begin{table}[t]",
        r"\centering\small",
        rf"\caption{{{escape.latex(grid.title)}}}",
        rf"\begin{{tabular}}{{l{'r' * len(grid.headers)}}}",
        r"\toprule",
        " & ".join(["", *head]) + r" \\",
        " ".join(rules),
        " & ".join(["System", *(escape.latex(header.label) for header in grid.headers)]) + r" \\",
    ]
    for group, rows in groups(grid.rows):
        lines += [r"\midrule", rf"\multicolumn{{{len(grid.headers) + 1}}}{{l}}{{\emph{{{escape.latex(group)}}}}} \\"]
        for row in rows:
            name = escape.latex(row.label) + (rf"$^{{\mathrm{{{_marks(row)}}}}}$" if row.marks else "")
            lines.append(" & ".join([name, *map(_latex_cell, row.cells)]) + r" \\")
    lines += [r"\bottomrule", r"\end{tabular}", "", r"\medskip", r"\begin{minipage}{\linewidth}\footnotesize"]
    lines += [rf"$^{{\mathrm{{{mark(index)}}}}}$ {escape.latex(text)}\par" for index, text in enumerate(grid.reasons)]
    lines += [rf"{escape.latex(note)}\par" for note in grid.notes]
    return "\n".join([*lines, r"\end{minipage}", r"\end{table}"]) + "\n"
