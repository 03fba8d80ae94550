"""Compare cells: ours with the published numbers, or those of two studies."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from mdnmt.config.loader import did_you_mean
from mdnmt.errors import DataError
from mdnmt.exhibits.grid import NONE, Cell, Grid, GridRow, Header
from mdnmt.exhibits.significance_stars import Tested, in_words
from mdnmt.numbers.rounding import half_up, standard_deviation
from mdnmt.numbers.verdicts import VERDICTS
from mdnmt.welch import half_width

WIDTH = 80


@dataclass(frozen=True)
class Line:
    """One cell and its counterpart; texts are rounded as in the table, and empty if there is no number.

    Attributes:
        row: the system.
        column: domain or quantity, with its metric.
        ours: our number.
        other: the published one, or that of the second study.
        difference: ours minus the published one, or the second study's minus the first's.
        verdict: one of `VERDICTS` if our number was compared with a published one, otherwise empty.
        reason: of the verdict.
        delta: the row against the table's baseline: difference, interval and p, if it was tested.
        star: whether the row is significantly better than the baseline.
        half_width: of the 95 % interval of the difference between two studies, over seeds; None with too few.
    """

    row: str
    column: str
    ours: str
    other: str
    difference: str
    verdict: str = ""
    reason: str = ""
    delta: Tested | None = None
    star: bool = False
    half_width: float | None = None


@dataclass(frozen=True)
class Comparison:
    """The comparison of one table: its lines, and below them what only one side has."""

    key: str
    title: str
    lines: tuple[Line, ...]
    left_out: tuple[str, ...] = ()
    baseline: str | None = None


def tables_of(study: str, results: Path) -> dict[str, Path]:
    """Return key -> file of a study's tables that exist.

    Raises:
        DataError: there are none.
    """
    folder = results / study / "tables"
    found = {path.stem: path for path in sorted(folder.glob("*.json"))}
    if not found:
        raise DataError(
            f"{folder}: no table is there; expected those of study {study!r}: "
            f"`snakemake --cores all --config study={study}` makes them, `mdnmt plan {study}` says what it takes"
        )
    return found


def chosen(tables: dict[str, Path], key: str | None, study: str) -> dict[str, Path]:
    """Return the table that was asked for, or all.

    Raises:
        DataError: the study has no such table.
    """
    if key is None:
        return tables
    if key not in tables:
        raise DataError(f"study {study!r} has no table {key!r}{did_you_mean(key, tables)}; it has: {', '.join(tables)}")
    return {key: tables[key]}


def with_published(key: str, grid: Grid) -> Comparison:
    """Return every cell of a table that we or the paper have, ours beside the published number."""
    lines = [
        _published_line(row, header, cell, grid)
        for row, header, cell in _cells(grid)
        if cell.mean is not None or cell.published_text
    ]
    nothing = () if any(line.other for line in lines) else ("No published number belongs beside these cells.",)
    return Comparison(key, grid.full_title, tuple(lines), nothing, grid.baseline_label)


def with_other(key: str, first: Grid, second: Grid) -> Comparison:
    """Return the cells that two tables have in common; what only one of them has is named."""
    theirs = {(row.method, header.metric, header.key): cell for row, header, cell in _cells(second)}
    lines, met = [], set()
    for row, header, cell in _cells(first):
        place = (row.method, header.metric, header.key)
        if place not in theirs:
            continue
        met.add(place)
        other = theirs[place]
        difference, reach = "", None
        if cell.mean is not None and other.mean is not None:
            reach = _half_width(cell, other)
            difference = _signed(other.mean - cell.mean, header) + (f" ± {_plain(reach, header)}" if reach else "")
        line = Line(row.label, _column(header), _number(cell), _number(other), difference, half_width=reach)
        lines.append(line)
    left_out = [f"{name} alone has: {', '.join(only)}" for name, only in _alone(first, second) if only]
    return Comparison(key, first.full_title, tuple(lines), tuple(left_out))


def to_json(comparisons: list[Comparison]) -> list[dict[str, Any]]:
    """Return comparisons as plain JSON values."""
    return [
        {
            **asdict(one),
            "lines": [{**asdict(line), "delta": line.delta.model_dump() if line.delta else None} for line in one.lines],
        }
        for one in comparisons
    ]


def to_text(comparison: Comparison, heads: tuple[str, str, str]) -> str:
    """Return a comparison as lines of 80 characters, followed by each reason once; `heads` are the column heads."""
    lines = textwrap.wrap(f"{comparison.key}: {comparison.title}", WIDTH)
    widths = (13, 13, 16) if any(line.half_width is not None for line in comparison.lines) else (12, 10, 11)
    if not comparison.lines:
        lines.append("  no cell is on both sides" if comparison.left_out else "  no number yet")
    else:
        lines.append(_text("", heads, "verdict" if any(line.verdict for line in comparison.lines) else "", widths))
    reasons = list(dict.fromkeys(line.reason for line in comparison.lines if line.reason))
    before = None
    for line in comparison.lines:
        lines += [] if line.row == before else textwrap.wrap(line.row, WIDTH, initial_indent="  ")
        before = line.row
        mark = f" [{reasons.index(line.reason) + 1}]" if line.reason else ""
        numbers = (line.ours, line.other, line.difference)
        lines.append(_text(line.column, numbers, f"{line.verdict}{mark}", widths))
        if line.delta is not None:
            text = f"{in_words(line.delta, comparison.baseline)}{' *' if line.star else ''}"
            lines += textwrap.wrap(text, WIDTH, initial_indent="      ", subsequent_indent="        ")
    for number, reason in enumerate(reasons, start=1):
        lines += textwrap.wrap(f"[{number}] {reason}", WIDTH, initial_indent="  ", subsequent_indent="      ")
    for text in comparison.left_out:
        lines += textwrap.wrap(text, WIDTH, initial_indent="  ", subsequent_indent="      ")
    return "\n".join(lines)


def summary(comparisons: list[Comparison]) -> str:
    """Return the number of cells with each verdict, or an empty text if there are no verdicts."""
    counts = Counter(line.verdict for one in comparisons for line in one.lines if line.verdict)
    return ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS if counts[verdict])


def _half_width(first: Cell, second: Cell) -> float | None:
    """Return the half-width of a difference's 95 % interval over seeds; None: fewer than two seeds, or none varies."""
    spreads = [(standard_deviation(cell.values), len(cell.values)) for cell in (first, second) if cell.num_seeds]
    known = [(spread, count) for spread, count in spreads if spread is not None]
    return half_width(known) if len(known) == 2 else None


def _published_line(row: GridRow, header: Header, cell: Cell, grid: Grid) -> Line:
    judgement = (cell.judgement or grid.verdict) if cell.published_text else None
    return Line(
        row=row.label,
        column=_column(header),
        ours=_number(cell),
        other=cell.published_text,
        difference=cell.difference_text,
        verdict=judgement.verdict if judgement else "",
        reason=judgement.reason if judgement else "",
        delta=cell.tested,
        star=cell.star,
    )


def _cells(grid: Grid) -> Iterator[tuple[GridRow, Header, Cell]]:
    """Yield the cells of columns with numbers, with their row and column."""
    for row in grid.rows:
        for header, cell in zip(grid.headers, row.cells, strict=True):
            if not header.is_text:
                yield row, header, cell


def _column(header: Header) -> str:
    return f"{header.label} {header.group}".strip()


def _number(cell: Cell) -> str:
    return "" if cell.mean is None else f"{cell.text} ± {cell.spread}" if cell.spread else cell.text


def _signed(value: float, header: Header) -> str:
    """Return a difference with its sign and the decimals of its column."""
    text = _plain(value, header)
    return text if text.startswith("-") else f"+{text}"


def _plain(value: float, header: Header) -> str:
    # Numbers of parameters are stored in full and shown in millions.
    return half_up(value / 1e6 if header.metric == "num_parameters" else value, header.places)


def _alone(first: Grid, second: Grid) -> list[tuple[str, list[str]]]:
    found = []
    for name, own, other in (("A", first, second), ("B", second, first)):
        rows = {row.method for row in other.rows}
        columns = {(header.metric, header.key) for header in other.headers}
        only = [row.label for row in own.rows if row.method not in rows]
        only += [_column(header) for header in own.headers if (header.metric, header.key) not in columns]
        found.append((name, only))
    return found


def _text(column: str, numbers: tuple[str, str, str], verdict: str, widths: tuple[int, int, int]) -> str:
    shown = "".join(f"{number or NONE:>{width}}" for number, width in zip(numbers, widths, strict=True))
    return f"    {column:<23}{shown}  {verdict}".rstrip()
