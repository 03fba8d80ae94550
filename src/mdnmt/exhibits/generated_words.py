"""What `mdnmt word-accuracy` wrote about generated text, where the truth is known, and the tables made of it."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from pydantic import Field

from mdnmt.exhibits.grid import Cell, Grid, GridRow, Header, Reasons, RowRun, number_cell
from mdnmt.exhibits.registry import TableSpec
from mdnmt.exhibits.rows import WordRow
from mdnmt.fsio import read_json

if TYPE_CHECKING:
    from mdnmt.exhibits.table_request import TableRequest

KINDS = {"common": "Common", "cue": "Domain's own", "context": "By context", "label": "By label"}
Column = tuple[str, str]  # (group, key); the group is the upper line of the head
Numbers = dict[Column, float]


class WordTable(TableSpec):
    """A table of generated text. Each kind reads a part of words.json."""

    part: ClassVar[str]  # the key in words.json
    explained: ClassVar[tuple[str, ...]] = ()  # notes on every table of the kind
    num_domains: int = Field(ge=1)
    rows: tuple[WordRow, ...]
    notes: tuple[str, ...] = ()

    @classmethod
    def select(cls, request: TableRequest) -> Self:
        """Return the table of a study."""
        rows = tuple(
            WordRow(**dict(request.score_row(row, runs, "words.json")), knows=row.knows)
            for row, runs, _ in request.rows()
        )
        return cls(**request.common, num_domains=len(request.columns), rows=rows)

    def inputs(self) -> list[Path]:
        """Return the files that the table is made from."""
        return [run.scores for row in self.rows for run in row.runs]

    def needs(self) -> tuple[WordRow, ...]:
        """Return its rows."""
        return self.rows

    @abstractmethod
    def numbers(self, words: dict[str, Any]) -> Numbers:
        """Return the numbers of a words.json."""

    @abstractmethod
    def label(self, key: str) -> str:
        """Return the head of a column."""

    def places(self, key: str) -> int:
        """Return the number of decimals of a column."""
        return 1

    def first_rows(self, columns: Sequence[Column]) -> list[GridRow]:
        """Return rows above those of the systems."""
        return []

    def last_headers(self) -> list[Header]:
        """Return columns after those of the numbers."""
        return []

    def last_cells(self, row: WordRow, found: Sequence[Numbers]) -> list[Cell]:
        """Return the cells of these columns.

        Args:
            row: the row.
            found: the numbers of each of its runs.
        """
        return []

    def build(self) -> Grid:
        """Return the table.

        Raises:
            DataError: a words.json is damaged.
        """
        reasons, measured = Reasons(), []
        for row in self.rows:
            found = [self._sorted(read_json(run.scores)) for run in row.runs]
            why = row.missing or (None if any(found) else f"{row.label} has no {self.part}")
            measured.append((row, found, () if why is None else (reasons.mark(why),)))
        columns = list(dict.fromkeys(key for _, found, _ in measured for numbers in found for key in numbers))
        headers = [
            Header(key=key, label=self.label(key), metric=self.kind, group=group, places=self.places(key))
            for group, key in columns
        ]
        rows = self.first_rows(columns) if columns else []
        for row, found, marks in measured:
            cells = []
            for column in columns:
                values = [numbers[column] for numbers in found if column in numbers]
                cells.append(number_cell(values, len(values), self.places(column[1])) if values else Cell())
            cells += self.last_cells(row, found)
            runs = tuple(RowRun(seed=run.seed, folder=run.scores.parent.parent.as_posix()) for run in row.runs)
            about = {"group": row.group, "label": row.label, "method": row.method, "marks": marks, "runs": runs}
            rows.append(GridRow(cells=tuple(cells), **about))
        return Grid(
            kind="words",
            title=self.full_title,
            headers=(*headers, *self.last_headers()),
            rows=tuple(rows),
            reasons=tuple(reasons.texts),
            notes=(*self.explained, *self.notes),
        )

    def _sorted(self, words: dict[str, Any]) -> Numbers:
        return dict(sorted(self.numbers(words).items(), key=lambda item: item[0][0]))


def accuracy(words: dict[str, Any]) -> dict[str, float]:
    """Return the percentage of right words of each kind, over all domains."""
    found = {}
    for kind in KINDS:
        counts = [domain[kind] for domain in words["domains"].values() if kind in domain]
        if total := sum(count["words"] for count in counts):
            found[kind] = 100.0 * sum(count["right"] for count in counts) / total
    return found


def gate_use(gates: dict[str, Any]) -> list[dict[str, float]]:
    """Return for each layer how the experts are used.

    `experts`: the exponential of the entropy of the mean gate, from 1 (one expert does everything) to their number.
    `largest`: the largest mean share of an expert, in percent. `apart`: how far the domains' gates are from their mean,
    in percent (half the sum of absolute differences): 0 if all domains use the same experts.
    """
    g_DLN = np.asarray(list(gates.values()), dtype=np.float64)
    found = []
    for g_DN in g_DLN.swapaxes(0, 1):
        centre_N = g_DN.mean(axis=0)
        entropy = -float((centre_N * np.log(np.maximum(centre_N, 1e-12))).sum())
        apart = float(np.abs(g_DN - centre_N).sum(axis=-1).mean() / 2)
        found.append({"experts": math.exp(entropy), "largest": 100 * float(centre_N.max()), "apart": 100 * apart})
    return found
