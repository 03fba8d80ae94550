"""A table before it is rendered: headers, rows in groups, cells with their numbers, notes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import BaseModel

from mdnmt.config.base import Frozen
from mdnmt.config.decoding import Split
from mdnmt.config.metrics import METRICS
from mdnmt.errors import DataError
from mdnmt.exhibits.significance_stars import Tested
from mdnmt.fsio import read_json
from mdnmt.numbers.rounding import half_up, mean, standard_deviation
from mdnmt.numbers.verdicts import NOT_AVAILABLE, NOT_MADE, VERDICTS, Judgement

Written = TypeVar("Written", bound=BaseModel)

FORMAT = 2  # of the file; raise it when the meaning of a field changes

DELTA = "d"  # prefix of a metric: its difference from the baseline row
NONE = "\N{EN DASH}"  # shown in place of a missing number


class Provenance(Frozen):
    """Version, commit and code; the commit is None outside a repository."""

    mdnmt: str
    commit: str | None
    dirty: bool | None  # whether the code or the configuration differed from the commit
    code: str  # hash of the modules that made it (mdnmt.code_hash)


class Header(Frozen):
    """A column: `group` is printed once above the columns that share it."""

    key: str  # domain or quantity, as in the data
    label: str
    metric: str
    group: str = ""
    places: int = 2
    is_text: bool = False  # its cells hold words, not numbers
    missing: str | None = None  # why no row has a number in it


class Cell(Frozen):
    """A number and all that is known about it; `text` is shown, `mean` is sorted and exported.

    `difference` is ours minus the published number. `marks` are indices into the table's `reasons`.
    """

    text: str = NONE
    values: tuple[float, ...] = ()  # one per seed, in the order of the row's runs
    mean: float | None = None
    sd: float | None = None
    spread: str | None = None  # sd as shown
    num_seeds: int = 0
    delta: float | None = None  # difference from the baseline row
    p: float | None = None  # of the test that decides, corrected for the number of comparisons
    verdict: Literal["better", "worse"] | None = None  # than the baseline row
    tested: Tested | None = None  # all results of the tests
    best: bool = False
    emphasis: tuple[int, int] | None = None  # start and end of the emphasised word in a text
    published: float | None = None
    published_text: str = ""  # as it is printed, with its star; empty: the paper has no such cell
    published_note: str = ""
    difference: float | None = None
    difference_text: str = ""
    judgement: Judgement | None = None
    marks: tuple[int, ...] = ()

    @property
    def star(self) -> bool:
        """Return whether the cell is starred: significantly better than the baseline."""
        return self.verdict == "better"


def number_cell(
    values: Sequence[float], num_seeds: int, places: int, *, show: Callable[[float, int], str] = half_up, **details: Any
) -> Cell:
    """Return the mean of at least one value, with its spread.

    Args:
        values: one for each run.
        num_seeds: how many of the runs were trained.
        places: decimals of the mean and of the spread.
        show: rounds the mean.
        details: further fields.
    """
    middle, spread = mean(values), standard_deviation(values)
    return Cell(
        text=show(middle, places),
        values=tuple(values),
        mean=middle,
        sd=spread,
        spread=None if spread is None else half_up(spread, places),
        num_seeds=num_seeds,
        **details,
    )


class RowRun(Frozen):
    """A run that a row's numbers come from: its folder, as the study names it; no seed if nothing was trained."""

    seed: int | None
    folder: str


class GridRow(Frozen):
    """A system; `marks` are indices into the table's `reasons` (0 is "a")."""

    group: str
    label: str
    method: str
    cells: tuple[Cell, ...]
    marks: tuple[int, ...] = ()
    runs: tuple[RowRun, ...] = ()


class Grid(Frozen):
    """A whole table, ready to be rendered in any format."""

    format: int = FORMAT
    kind: str
    title: str
    where: str = ""  # in the paper: "Table 2"
    row_head: str = "System"  # above the labels of the rows
    headers: tuple[Header, ...]
    rows: tuple[GridRow, ...]
    baseline: str | None = None  # a row's method
    baseline_label: str | None = None
    alpha: float | None = None
    correction: Literal["holm", "none"] = "none"  # of stars, for the number of comparisons
    verdict: Judgement | None = None  # if all cells share it; it is then stated once, in `notes`
    reasons: tuple[str, ...] = ()  # lettered notes: why something is missing or cannot be compared
    notes: tuple[str, ...] = ()
    split: Split = "test"  # of a table of scores: the text that was scored
    test_sentences: tuple[tuple[str, int], ...] = ()  # (domain, number)
    busy: bool = False  # resources: others used the machine, so time, energy and memory are in doubt
    made: Provenance | None = None

    @property
    def full_title(self) -> str:
        """Return the title, with the table's number in the paper before it."""
        return f"{self.where}: {self.title}" if self.where else self.title

    @property
    def is_compared(self) -> bool:
        """Return whether any published number is known, so that it is shown beside ours."""
        return any(cell.published is not None for row in self.rows for cell in row.cells)


def mark(index: int) -> str:
    """Return the letter of a reason: a, b, ..., z, aa, ab, ..."""
    letters = ""
    index += 1
    while index:
        index, digit = divmod(index - 1, 26)
        letters = chr(ord("a") + digit) + letters
    return letters


def reason_letters(marks: tuple[int, ...]) -> str:
    """Return the letters of several reasons: `a, c`."""
    return ", ".join(mark(index) for index in marks)


def emphasised(cell: Cell, escape: Callable[[str], str], bold: str) -> str:
    """Return a cell's text, escaped, with its emphasised word in the place of `{}` in `bold`."""
    if cell.emphasis is None:
        return escape(cell.text)
    start, end = cell.emphasis
    before, after = cell.text[:start], cell.text[end:]
    # Some escape functions strip blanks at the ends; those beside the word are added again.
    left, right = " " * before[-1:].isspace(), " " * after[:1].isspace()
    word = bold.format(escape(cell.text[start:end]))
    return escape(before.rstrip()) + left + word + right + escape(after.lstrip())


def groups(rows: tuple[GridRow, ...]) -> list[tuple[str, list[GridRow]]]:
    """Return the rows by group, groups in the order of their first row."""
    found: dict[str, list[GridRow]] = {}
    for row in rows:
        found.setdefault(row.group, []).append(row)
    return list(found.items())


def spans(headers: tuple[Header, ...]) -> list[tuple[str, int]]:
    """Return (group label, number of columns) for the upper line of the head."""
    runs: list[tuple[str, int]] = []
    for header in headers:
        if runs and runs[-1][0] == header.group:
            runs[-1] = (header.group, runs[-1][1] + 1)
        else:
            runs.append((header.group, 1))
    return runs


def column_names(grid: Grid) -> list[str]:
    """Return the heads of the columns, with their groups if these are needed to tell them apart."""
    alone = len(spans(grid.headers)) == 1 or grid.kind == "resources"
    return [header.label if alone else f"{header.group} {header.label}" for header in grid.headers]


class Reasons:
    """Collect reasons once each and hand out their numbers."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self.texts = list(texts)

    def mark(self, text: str) -> int:
        """Return the number of the reason `text`; add it if it is new."""
        if text not in self.texts:
            self.texts.append(text)
        return self.texts.index(text)


def read_grid(path: Path) -> Grid:
    """Return the table in a file that `mdnmt exhibit` wrote.

    Raises:
        DataError: the file is not such a table, or was written by another version of mdnmt.
    """
    try:
        found = read_json(path)
        if isinstance(found, dict) and "rows" in found and found.get("format") != FORMAT:
            raise ValueError(
                f"format {found.get('format', 1)}, not {FORMAT}: of another version of mdnmt; make it again"
            )
        return Grid.model_validate(found)
    except (OSError, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise DataError(f"{path}: expected a table written by `mdnmt exhibit`, found: {reason}") from error


def read_written(path: Path, model: type[Written], what: str) -> Written:
    """Return the value in a JSON file that a verb wrote.

    Args:
        path: the file.
        model: the class of the value.
        what: what the file should be, for the error.

    Raises:
        DataError: it is not that.
    """
    try:
        return model.model_validate(read_json(path))
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: expected {what}, found: {str(error).splitlines()[0]}") from error


def tally(grids: Iterable[Grid]) -> dict[str, int]:
    """Count the published cells of tables by verdict, in the order of `VERDICTS`.

    Two more keys follow: `not made` (published, but we have no number) and `not available` (we have a number, but the
    published one is not available).
    """
    counts: dict[str, int] = dict.fromkeys((*VERDICTS, NOT_MADE, NOT_AVAILABLE), 0)
    for grid in grids:
        for cell in (cell for row in grid.rows for cell in row.cells):
            if cell.judgement is not None:
                counts[cell.judgement.verdict] += 1
            elif cell.published is not None:
                counts[NOT_MADE] += 1
            elif cell.published_text and cell.mean is not None:
                counts[NOT_AVAILABLE] += 1
    return counts


def mark_best(rows: list[GridRow], headers: Sequence[Header]) -> list[GridRow]:
    """Return the rows with the best number of a trained system in each column marked, and all that read the same.

    A column with one trained system has no best.
    """
    best: list[str | None] = []
    for header, cells in zip(headers, zip(*(row.cells for row in rows), strict=True), strict=False):
        known = [cell for cell in cells if cell.mean is not None and cell.num_seeds]
        choose = min if lower_is_better(header) else max
        compared = len(known) > 1 and _is_quality(header)
        top = choose(known, key=lambda cell: cell.mean or 0.0) if compared else None
        best.append(top.text if top else None)
    return [
        row.model_copy(
            update={
                "cells": tuple(
                    cell.model_copy(update={"best": cell.num_seeds > 0 and cell.text == top})
                    for cell, top in zip(row.cells, best, strict=True)
                )
            }
        )
        for row in rows
    ]


def _is_quality(header: Header) -> bool:
    about = METRICS.get(header.metric.removeprefix(DELTA))
    return about is None or about.is_quality


def lower_is_better(header: Header) -> bool:
    """Return whether lower is better in a column with a metric or its differences."""
    about = METRICS.get(header.metric.removeprefix(DELTA))
    return about is not None and about.lower_is_better
