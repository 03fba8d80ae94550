"""Read the tables and figures that decide claims: rows by method, columns by the paper's domains, numbers by seed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict

from mdnmt.config.claim_rule import Bound
from mdnmt.exhibits.grid import Cell, Grid, GridRow, read_grid, read_written
from mdnmt.exhibits.seed_scores import AVERAGE, DEVELOPMENT
from mdnmt.statements.claims.outcome import Comparison
from mdnmt.statements.claims.seed_samples import Sample, of_values
from mdnmt.statements.claims.spec import ClaimsSpec
from mdnmt.statements.claims.wording import metric_words, title_of

# Time and memory are measured once, not once per seed; we take them to be accurate to 5 %.
MEASURED_SLACK = 0.05
BUSY = "time and memory were measured while other processes had part of the machine"
NOT_HERE = "not part of this study"


def absent(what: Iterable[str], where: str, why: str) -> Comparison:
    """Return a comparison that cannot be made because `what` is missing."""
    text = f"{', '.join(what)} in {where} ({why})"
    return Comparison(what=f"needs {text}", missing=text)


@dataclass(frozen=True)
class Evidence:
    """The tables and figures of a study that decide the claims of a paper."""

    spec: ClaimsSpec

    def table(self, exhibit: str) -> Table | None:
        """Return a table by its name, or None if it was not made.

        Raises:
            DataError: the file is not a table.
        """
        path = self.spec.tables.get(exhibit)
        return None if path is None else Table(exhibit, read_grid(path), self.spec)

    def measures(self, exhibit: str) -> tuple[Measure, ...] | None:
        """Return the numbers of a figure by its name, or None if it was not made.

        Raises:
            DataError: the file is not what `mdnmt exhibit` writes.
        """
        path = self.spec.figures.get(exhibit)
        return None if path is None else read_measures(path)

    def absent(self, exhibit: str) -> Comparison:
        """Return a comparison that cannot be made because a table or figure is missing."""
        text = f"{title_of(exhibit)} ({self.spec.why_missing(exhibit)})"
        return Comparison(what=f"needs {text}", missing=text)


@dataclass(frozen=True)
class Table:
    """A table of scores or resources."""

    exhibit: str
    grid: Grid
    spec: ClaimsSpec

    @property
    def title(self) -> str:
        """Return how a reader calls the table."""
        return title_of(self.exhibit)

    def without_rows(self, methods: Iterable[str]) -> Iterator[Comparison]:
        """Yield a comparison that cannot be made, if methods have no row."""
        names = [method for method in dict.fromkeys(methods) if not self.rows(method)]
        if names:
            yield absent(names, self.title, NOT_HERE)

    def without_metric(self, metric: str) -> Comparison:
        """Return a comparison that cannot be made, because the table lacks the metric."""
        return absent([metric_words(metric)], self.title, self.why_without(metric))

    def measured(self, metric: str) -> str:
        """Return the table's metric for a metric of a claim.

        For BLEU it is the one that the printed BLEU is compared with or, if none is printed, sacreBLEU's.
        """
        printed = self.spec.printed_bleu.get(self.exhibit, metric) if metric == "bleu" else metric
        return printed if self._has(printed) else metric

    def keys(self, metric: str) -> list[str]:
        """Return the columns of a metric that are domains: neither the average nor the development set."""
        metric, others = self.measured(metric), (AVERAGE, DEVELOPMENT)
        return [header.key for header in self.grid.headers if header.metric == metric and header.key not in others]

    def column(self, domain: str) -> str:
        """Return the column of a domain of the paper's own task."""
        return self.spec.domains.get(self.exhibit, {}).get(domain, domain)

    def label(self, metric: str, key: str) -> str:
        """Return what is measured in a column, in words."""
        metric = self.measured(metric)
        label = next((h.label for h in self.grid.headers if (h.metric, h.key) == (metric, key)), key)
        if key == AVERAGE:
            return f"average {metric_words(metric)}"
        return metric_words(metric) if key == metric else f"{metric_words(metric)} on {label}"

    def rows(self, method: str) -> list[tuple[GridRow, str | None]]:
        """Return the rows of a method, each with its domain if it is trained on one domain alone, else None."""
        names = self.spec.names(self.exhibit, method)
        found: list[tuple[GridRow, str | None]] = [(row, None) for row in self.grid.rows if row.method in names]
        keys = {header.key for header in self.grid.headers}
        for row, name in product(self.grid.rows, names):
            domain = row.method.removeprefix(f"{name}-")
            if domain != row.method and domain in keys:
                found.append((row, domain))
        return found

    def has(self, metric: str) -> bool:
        """Say whether any row has a number of this metric that can decide something."""
        return metric not in self.spec.unusable and self._has(self.measured(metric))

    def why_without(self, metric: str) -> str:
        """Return why no row has a number of this metric."""
        headers = (header.missing for header in self.grid.headers if header.metric == self.measured(metric))
        return self.spec.unusable.get(metric) or next((why for why in headers if why), "no run has it")

    def _has(self, metric: str) -> bool:
        places = [index for index, header in enumerate(self.grid.headers) if header.metric == metric]
        return any(row.cells[index].mean is not None for row in self.grid.rows for index in places)

    def cell(self, row: GridRow, metric: str, key: str) -> Cell | None:
        """Return a cell, or None where the table has no such column."""
        metric = self.measured(metric)
        cells = zip(self.grid.headers, row.cells, strict=True)
        return next((cell for header, cell in cells if (header.metric, header.key) == (metric, key)), None)

    def sample(self, row: GridRow, metric: str, key: str) -> Sample | None:
        """Return the number in a cell, or None where there is none."""
        cell = self.cell(row, metric, key)
        if cell is None or cell.mean is None:
            return None
        if self.grid.kind == "resources":
            exact = metric == "num_parameters"
            busy = BUSY if not exact and self.grid.busy else None
            return Sample(cell.mean, slack=0.0 if exact else MEASURED_SLACK * abs(cell.mean), doubt=busy)
        if cell.num_seeds == 0:
            return Sample(cell.mean, slack=0.0)  # nothing was trained, so no seed could change it
        values = seed_values(cell)
        return of_values(values) if values else Sample(cell.mean, cell.sd, cell.num_seeds)

    def published(self, row: GridRow, metric: str, key: str) -> float | None:
        """Return the number that the paper prints for a cell, or None where it prints none."""
        cell = self.cell(row, metric, key)
        return None if cell is None else cell.published

    def lacks(self, row: GridRow, metric: str, key: str) -> Comparison:
        """Return a comparison that cannot be made because the row lacks this number."""
        why = "; ".join(self.grid.reasons[mark] for mark in row.marks) or "no number"
        return absent([f"{self.label(metric, key)} of {row.label}"], self.title, why)


class Place(NamedTuple):
    """A cell of a table, whether or not it has a number yet."""

    table: Table
    row: GridRow
    metric: str
    key: str

    @property
    def sample(self) -> Sample | None:
        """Return its number, or None where there is none."""
        return self.table.sample(self.row, self.metric, self.key)

    @property
    def published(self) -> float | None:
        """Return the number that the paper prints for it, or None where it prints none."""
        return self.table.published(self.row, self.metric, self.key)

    @property
    def lacks(self) -> Comparison:
        """Return a comparison that cannot be made because it has no number."""
        return self.table.lacks(self.row, self.metric, self.key)


class Pair(NamedTuple):
    """Two cells that a rule compares: `left - times * right` with the bound.

    Attributes:
        left: a cell.
        right: the cell that is subtracted.
        times: its factor.
        bound: of the rule; None: the significance test of the table decides.
        group: of the comparison.
    """

    left: Place
    right: Place
    times: float = 1.0
    bound: Bound | None = None
    group: str = ""


def seed_values(cell: Cell) -> tuple[float, ...]:
    """Return the values of a cell, one per seed; none if the table holds only their mean."""
    values = tuple(getattr(cell, "values", None) or ())
    return values if len(values) == cell.num_seeds else ()


class Measure(BaseModel):
    """A number that a figure shows; `at` says of what: {"side": "encoder", "layer": 1}."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    method: str
    label: str
    seed: int | None = None
    name: str
    at: dict[str, str | int | float] = {}
    value: float | None = None  # None: there is none


class FigureFile(BaseModel):
    """What `mdnmt exhibit` writes beside the drawing, as far as claims need it."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    measures: tuple[Measure, ...]


def read_measures(path: Path) -> tuple[Measure, ...]:
    """Return the numbers of a figure.

    Raises:
        DataError: the file is not what `mdnmt exhibit` writes.
    """
    return read_written(path, FigureFile, "the numbers of a figure by `mdnmt exhibit`").measures
