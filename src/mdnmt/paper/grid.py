"""What a table is before it is drawn: headers, rows in groups, cells with their numbers, notes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from mdnmt.config.base import Frozen
from mdnmt.errors import DataError


class Header(Frozen):
    """A column: `group` is printed once above the columns that share it."""

    key: str  # domain or quantity, as in the data
    label: str
    metric: str
    group: str = ""
    places: int = 2


class Cell(Frozen):
    """A number with what is known of it; `text` is what is shown, `mean` what is sorted and exported."""

    text: str = "\N{EN DASH}"
    mean: float | None = None
    sd: float | None = None
    spread: str | None = None  # sd as shown
    num_seeds: int = 0
    delta: float | None = None  # to the baseline row
    p: float | None = None
    verdict: Literal["better", "worse"] | None = None  # than the baseline row, with every seed
    best: bool = False

    @property
    def star(self) -> bool:
        """Return whether the cell is starred: significantly better than the baseline."""
        return self.verdict == "better"


class GridRow(Frozen):
    """A system; `marks` point into the table's `reasons` (0 is "a")."""

    group: str
    label: str
    method: str
    cells: tuple[Cell, ...]
    marks: tuple[int, ...] = ()


class Grid(Frozen):
    """A whole table, ready to be drawn in any format."""

    kind: Literal["scores", "resources", "words"]
    title: str
    headers: tuple[Header, ...]
    rows: tuple[GridRow, ...]
    baseline: str | None = None  # a row's method
    baseline_label: str | None = None
    alpha: float | None = None
    reasons: tuple[str, ...] = ()  # lettered notes: why something is missing
    notes: tuple[str, ...] = ()
    test_sentences: tuple[tuple[str, int], ...] = ()  # (domain, number)


def mark(index: int) -> str:
    """Return the letter of a reason: a, b, ..., z, aa, ab, ..."""
    letters = ""
    index += 1
    while index:
        index, digit = divmod(index - 1, 26)
        letters = chr(ord("a") + digit) + letters
    return letters


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


class Reasons:
    """Collect reasons once each and hand out their numbers."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def mark(self, text: str) -> int:
        """Return the number of the reason `text`, a new one where it is new."""
        if text not in self.texts:
            self.texts.append(text)
        return self.texts.index(text)


def read_grid(path: Path) -> Grid:
    """Return the table in a file that `mdnmt table --json` wrote.

    Raises:
        DataError: the file is no such table.
    """
    try:
        return Grid.model_validate(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, ValidationError) as error:
        reason = str(error).splitlines()[0]
        raise DataError(f"{path}: expected a table written by `mdnmt table --json`, found: {reason}") from error
