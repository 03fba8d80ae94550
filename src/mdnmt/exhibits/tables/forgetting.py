"""Table of each domain translated by its own model, and of what such a model forgets of the other domains."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self

from mdnmt.config.metrics import METRICS, Metric
from mdnmt.exhibits.grid import DELTA, Cell, Grid, GridRow, Header, Reasons, mark_best, number_cell
from mdnmt.exhibits.registry import TableSpec, register
from mdnmt.exhibits.rows import Column, ScoreRow, files_of
from mdnmt.exhibits.seed_scores import (
    AVERAGE,
    OTHERS,
    Measured,
    SharedConditions,
    difference,
    interval,
    measure,
    row_runs,
)
from mdnmt.numbers.rounding import half_up, signed

if TYPE_CHECKING:
    from mdnmt.exhibits.table_request import TableRequest

PLACES = 2
ONE_MODEL = "one model of all domains: no domain is another"


@register
class ForgettingTable(TableSpec):
    """Scores of each domain by its own model, and the mean score of these models on all other domains."""

    kind: Literal["forgetting"] = "forgetting"
    columns: tuple[Column, ...]
    systems: tuple[ScoreRow, ...]
    metrics: tuple[Metric, ...]
    baseline: str
    baseline_label: str
    notes: tuple[str, ...] = ()

    @classmethod
    def select(cls, request: TableRequest) -> Self:
        """Return the table of a study."""
        return cls(
            **request.common,
            **request.baseline,
            columns=request.columns,
            systems=tuple(request.own_domain_rows(request.table.rows)),
            metrics=request.table.metrics,
        )

    def inputs(self) -> list[Path]:
        """Return the files that the table is made from."""
        return files_of(self.systems)

    def needs(self) -> tuple[ScoreRow, ...]:
        """Return the scores of all models."""
        return tuple(part for system in self.systems for part in system.parts)

    @property
    def cells_of_row(self) -> int:
        """Return how many cells a row has."""
        return len(self._headers())

    def build(self) -> Grid:
        """Return the table.

        Raises:
            DataError: a file is invalid, or the models were not scored on the same test sets.
        """
        shared, reasons = SharedConditions(self.columns, self.metrics, "test"), Reasons()
        numbers = {system.method: measure(system, shared) for system in self.systems}
        base, headers = numbers.get(self.baseline, {}), self._headers()
        rows, intervals = [], []
        for system in self.systems:
            cells = []
            for header in headers:
                metric = header.metric.removeprefix(DELTA)
                ours = numbers[system.method].get((metric, header.key))
                if metric == header.metric:
                    cells.append(_cell(ours))
                    continue
                # The baseline has one model: its average is also its mean score on other domains.
                of_base = base.get((metric, AVERAGE)) if system.method != self.baseline else None
                cells.append(_cell(difference(ours, of_base), signed))
                if text := interval(difference(ours, of_base), PLACES):
                    intervals.append(f"{system.label}, {header.group}: {text}")
            marks = [reasons.mark(why) for why in (system.why_missing, None if system.models else ONE_MODEL) if why]
            about = {"group": system.group, "label": system.label, "method": system.method, "runs": row_runs(system)}
            rows.append(GridRow(cells=tuple(cells), marks=tuple(marks), **about))
        return Grid(
            kind=self.kind,
            title=self.full_title,
            where=self.where,
            headers=tuple(headers),
            rows=tuple(mark_best(rows, headers)),
            baseline=self.baseline,
            baseline_label=self.baseline_label,
            reasons=tuple(reasons.texts),
            notes=(*self._notes(shared, intervals), *self.notes),
            test_sentences=tuple((name, count) for name, (count, _) in shared.sentences.items()),
        )

    def _headers(self) -> list[Header]:
        """Return, for each metric, the domains by their own models, their average, and the other domains."""
        headers = []
        for metric in self.metrics:
            name = METRICS[metric].label
            own, others = f"{name}, own domain", f"{name}, other domains"
            columns = [(one.name, one.label, own) for one in self.columns]
            for key, label, group in (*columns, (AVERAGE, "Avg.", own), (OTHERS, "Avg.", others)):
                headers.append(Header(key=key, label=label, metric=metric, group=group, places=PLACES))
                if key in (AVERAGE, OTHERS):
                    delta = f"\N{GREEK CAPITAL LETTER DELTA}{self.baseline_label}"
                    headers.append(Header(key=key, label=delta, metric=DELTA + metric, group=group, places=PLACES))
        return headers

    def _notes(self, shared: SharedConditions, intervals: list[str]) -> list[str]:
        notes = [
            "Own domain: a system with one model for each domain translates every test set with the model of its "
            "domain. Other domains: the mean of each such model's scores on the test sets of all other domains.",
            f"\N{GREEK CAPITAL LETTER DELTA}{self.baseline_label}: difference from the average of "
            f"{self.baseline_label}. On other domains it is what fine-tuning on a domain costs there.",
        ]
        if intervals:
            notes.append(
                f"95 % intervals of the differences over seeds, paired by seed (Student's t): {'; '.join(intervals)}."
            )
        notes.append("\N{PLUS-MINUS SIGN} is the standard deviation over seeds. Averages are of unrounded scores.")
        return notes + shared.signature_notes()


def _cell(measured: Measured | None, show: Callable[[float, int], str] = half_up) -> Cell:
    return Cell() if measured is None else number_cell(measured.values, measured.num_seeds, PLACES, show=show)
