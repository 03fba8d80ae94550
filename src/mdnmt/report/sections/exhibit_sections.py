"""Tables and figures on the page: drawn, or with the reason why they are missing."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from markupsafe import Markup

from mdnmt.exhibits.grid import Grid, GridRow, RowRun, read_grid
from mdnmt.exhibits.rows import ReportRun
from mdnmt.exhibits.run_notes import of_report
from mdnmt.report import render_html, table_summary
from mdnmt.report.contents import ReportFigure, ReportTable
from mdnmt.report.plain_tables import NONE, Entry, PlainTable, any_number, optional_json
from mdnmt.report.png_metadata import read_picture

NOT_MADE = "not made yet"
MOST_NUMBERS = 80  # of a figure, on the page; all are in its file


@dataclass(frozen=True)
class TableSection:
    """A table; `missing` says why it has no `html`."""

    id: str
    title: str
    missing: str | None
    files: str = ""  # the same table in other formats
    grid: Grid | None = None
    html: Markup = field(default_factory=Markup)
    reading: table_summary.TableSummary | None = None
    is_table: bool = True


@dataclass(frozen=True)
class FigureSection:
    """A picture, embedded; `missing` says why there is none."""

    id: str
    title: str
    caption: str
    missing: str | None
    source: str = ""
    alt: str = ""
    width: int = 0
    height: int = 0
    runs: list[tuple[str, list[Entry]]] = field(default_factory=list)  # (system, its runs)
    numbers: PlainTable | None = None
    left_out: int = 0  # how many of its numbers are left out
    numbers_file: str = ""
    is_table: bool = False


Item = TableSection | FigureSection


def table(given: ReportTable, links: Mapping[str, str]) -> TableSection:
    """Return a table, rendered from its validated JSON, so that all text is escaped.

    Raises:
        DataError: its file was not written by `mdnmt exhibit`.
    """
    if not given.data.is_file():
        return TableSection(given.id, given.full_title, given.missing or NOT_MADE)
    grid = read_grid(given.data)
    grid = grid.model_copy(update={"rows": tuple(_with_runs(row, given.runs) for row in grid.rows)})
    return TableSection(
        id=given.id,
        title=grid.full_title,
        missing=None,
        files=given.data.with_suffix(".*").as_posix(),
        grid=grid,
        html=Markup(render_html.to_html(grid, links)),
        reading=table_summary.summarise(grid) if grid.kind == "scores" else None,
    )


def _with_runs(row: GridRow, runs: tuple[ReportRun, ...]) -> GridRow:
    if row.runs:
        return row
    own = tuple(RowRun(seed=run.seed, folder=run.folder.as_posix()) for run in runs if run.method == row.method)
    return row.model_copy(update={"runs": own})


def figure(given: ReportFigure, links: Mapping[str, str]) -> FigureSection:
    """Return a figure with its picture embedded."""
    title = f"{given.where}: {given.full_title}" if given.where else given.full_title
    if not given.png.is_file():
        return FigureSection(given.id, title, given.caption, given.missing or NOT_MADE)
    data = given.png.read_bytes()
    picture = read_picture(given.png)
    words = picture.texts.get("Description", "")
    reason = words.removeprefix("Not drawn: ") if words.startswith("Not drawn: ") else None
    numbers, left_out = _numbers(given, title)
    return FigureSection(
        id=given.id,
        title=title,
        caption=" ".join([given.caption, *of_report(given.runs, given.numbers)]),
        missing=given.missing or reason,
        source=f"data:image/png;base64,{base64.b64encode(data).decode('ascii')}",
        alt=words or title,
        width=picture.width // 2,
        height=picture.height // 2,
        runs=_runs(given.runs, links),
        numbers=numbers,
        left_out=left_out,
        numbers_file="" if given.numbers is None else given.numbers.as_posix(),
    )


def _runs(runs: tuple[ReportRun, ...], links: Mapping[str, str]) -> list[tuple[str, list[Entry]]]:
    found: dict[str, list[Entry]] = {}
    for run in runs:
        if (link := links.get(run.folder.as_posix())) is not None:
            found.setdefault(run.label, []).append(Entry(f"seed {run.seed}", link=link))
    return list(found.items())


def _numbers(given: ReportFigure, title: str) -> tuple[PlainTable | None, int]:
    """Return the numbers that a figure shows, for those who cannot see it, and how many are left out."""
    measures: list[dict[str, Any]] = (optional_json(given.numbers) or {}).get("measures", [])
    if not measures:
        return None, 0
    rows = [
        [
            Entry(str(one.get("label") or one["method"])),
            Entry(NONE if one.get("seed") is None else str(one["seed"]), one.get("seed")),
            Entry(str(one["name"]).replace("_", " ")),
            Entry(", ".join(f"{key} {value}" for key, value in one.get("at", {}).items())),
            any_number(one["value"]),
        ]
        for one in measures[:MOST_NUMBERS]
    ]
    headers = ["System", "Seed", "Measure", "Where", "Value"]
    table = PlainTable(f"Numbers of {title}", headers, rows, [False, True, False, False, True])
    return table, len(measures) - len(rows)
