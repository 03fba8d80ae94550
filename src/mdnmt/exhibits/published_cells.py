"""Put the published number beside ours, with difference, verdict, and notes that state each reason once."""

from __future__ import annotations

from mdnmt.config.margin import Margin
from mdnmt.exhibits.grid import Cell, Grid, GridRow, Reasons, column_names, tally
from mdnmt.numbers.rounding import signed
from mdnmt.numbers.verdicts import MIN_SEEDS, NOT_MADE, VERDICTS, Judgement, Printed, Verdict

# Short signs that every font has; the notes under each table explain them.
SIGNS = {"reproduced": "\N{ALMOST EQUAL TO}", "not reproduced": "\N{NOT EQUAL TO}", "inconclusive": "?"}
SIGNS |= {"not comparable": "n/c", "not tested": "n/t"}
UNAVAILABLE = "not available"

_EQUAL = "ours, rounded like the published number, equals it"


def verdict_rules(kind: str, margin: Margin) -> dict[Verdict, str]:
    """Return what each verdict means in a table of this kind, for its legend."""
    if kind in {"corpora", "resources"}:
        return {"reproduced": _EQUAL, "not reproduced": "it does not"}
    bounds = f"\N{PLUS-MINUS SIGN}{margin.points:g} points"
    return {
        "reproduced": "the 95 % interval of our mean minus the published number (taken as one run) lies inside "
        f"{bounds}, or, if runs vary too much for that, the difference lies inside and is not significant",
        "not reproduced": "the interval lies outside",
        "inconclusive": f"fewer than {MIN_SEEDS} seeds, or the interval reaches across a bound",
    }


def first_reason(*reasons: str | None) -> str | None:
    """Return the first reason that is given."""
    return next((reason for reason in reasons if reason), None)


def with_published(cell: Cell, printed: Printed | None, judgement: Judgement | None, percent: bool = False) -> Cell:
    """Return the cell with the published number; `percent` shows the difference in percent of that number."""
    if printed is None:
        return cell
    raw = printed.raw or (UNAVAILABLE if printed.value is None else f"{printed.value:.15g}")
    if printed.star and "*" not in raw:
        raw += "*"
    return cell.model_copy(
        update={
            "published": printed.value,
            "published_text": raw,
            "published_note": printed.note,
            "judgement": judgement,
            **_difference(cell.mean, printed.value, percent),
        }
    )


def _difference(ours: float | None, published: float | None, percent: bool) -> dict[str, float | str]:
    if ours is None or published is None:
        return {}
    difference = ours - published
    if not percent:
        return {"difference": difference, "difference_text": signed(difference, 2)}
    text = f"{signed(100 * difference / published, 1)} %" if published else ""
    return {"difference": difference, "difference_text": text}


def annotate(grid: Grid, margin: Margin | None = None) -> Grid:
    """Return the table with what its cells share stated once: a verdict for all of them, lettered reasons, a legend."""
    cells = [cell for row in grid.rows for cell in row.cells if cell.published_text]
    if not cells:
        return grid
    judged = [cell.judgement for cell in cells if cell.judgement is not None]
    shared = judged[0] if judged and all(judgement == judged[0] for judgement in judged) else None
    remarks = {cell.published_note for cell in cells}
    remark = remarks.pop() if len(remarks) == 1 else None
    reasons = Reasons(grid.reasons)
    rows = tuple(_marked(row, reasons, with_verdicts=shared is None, with_remarks=remark is None) for row in grid.rows)
    shared_note = [f"All published numbers: {remark.rstrip('.')}."] if remark else []
    notes = [*_legend(grid, shared, margin or Margin()), *shared_note, *grid.notes]
    found = {"rows": rows, "verdict": shared, "reasons": tuple(reasons.texts), "notes": tuple(notes)}
    return grid.model_copy(update=found)


def _marked(row: GridRow, reasons: Reasons, *, with_verdicts: bool, with_remarks: bool) -> GridRow:
    """Return the row with letters at published numbers that have a remark, and at those that cannot be compared."""

    def marked(cell: Cell) -> Cell:
        texts = []
        if with_verdicts and cell.judgement is not None and cell.judgement.verdict == "not comparable":
            texts.append(cell.judgement.reason)
        if with_remarks and cell.published_note:
            texts.append(cell.published_note)
        return cell.model_copy(update={"marks": tuple(reasons.mark(text) for text in texts)}) if texts else cell

    return row.model_copy(update={"cells": tuple(marked(cell) for cell in row.cells)})


def _legend(grid: Grid, shared: Judgement | None, margin: Margin) -> list[str]:
    """Return what the published numbers and the signs beside them mean, and how many there are of each."""
    counts = tally([grid])
    number = sum(cell.published is not None for row in grid.rows for cell in row.cells)
    if not number:
        return ["The published numbers are not available; if you have them, add them to config/published."]
    text = "Beside or below ours: the published number"
    if any(_shows_difference(cell) for row in grid.rows for cell in row.cells):
        share = "" if grid.kind == "scores" else " in percent of it"
        text += f", and how much higher or lower ours is{share}"
    if absent := counts[NOT_MADE]:
        text += f"; {absent} of {number} have none of ours yet"
    if shared is not None:
        return [f"{text}. {shared.verdict.capitalize()}: {shared.reason.rstrip('.')}."]
    meaning = verdict_rules(grid.kind, margin)
    weaker = sum(bool(cell.judgement and cell.judgement.only_inside) for row in grid.rows for cell in row.cells)
    extra = dict.fromkeys(VERDICTS, "") | {"reproduced": f", {weaker} only by the second condition" if weaker else ""}
    return [
        f"{text}.",
        *(
            f"{SIGNS[verdict]} {verdict} ({counts[verdict]}{extra[verdict]}): "
            f"{meaning.get(verdict, 'the letter says why')}."
            for verdict in VERDICTS
            if counts[verdict]
        ),
    ]


def _shows_difference(cell: Cell) -> bool:
    """Return whether the difference is shown; it means nothing between numbers that cannot be compared."""
    comparable = cell.judgement is not None and cell.judgement.verdict != "not comparable"
    return comparable and bool(cell.difference_text)


def published_parts(grid: Grid, cell: Cell) -> tuple[str, ...]:
    """Return what is shown beside our number: the published one, the difference, the verdict's sign.

    Each is left out if it does not apply.
    """
    if not grid.is_compared or not cell.published_text or (cell.published is None and cell.mean is None):
        return ()
    parts = ["n/a" if cell.published_text == UNAVAILABLE else cell.published_text]
    if _shows_difference(cell):
        parts.append(cell.difference_text)
    if cell.judgement is not None and grid.verdict is None:
        parts.append(SIGNS[cell.judgement.verdict])
    return tuple(parts)


def judged_cells(grid: Grid) -> list[tuple[str, str, Cell, Judgement]]:
    """Return (system, column, cell, judgement) of each judged cell; nothing if all cells share one verdict.

    Differences that mean nothing are removed.
    """
    if grid.verdict is not None:
        return []
    return [
        (
            row.label,
            column,
            cell if _shows_difference(cell) else cell.model_copy(update={"difference_text": ""}),
            cell.judgement,
        )
        for row in grid.rows
        for column, cell in zip(column_names(grid), row.cells, strict=True)
        if cell.judgement is not None
    ]
