"""Table of each domain translated by its own model, and of what such a model forgets of the other domains."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self

from mdnmt.config.base import Frozen
from mdnmt.config.metrics import METRICS, Metric
from mdnmt.exhibits.grid import DELTA, Cell, Grid, GridRow, Header, Reasons, RowRun, mark_best
from mdnmt.exhibits.registry import TableSpec, register
from mdnmt.exhibits.rows import Column, ScoreRow, files_of
from mdnmt.exhibits.score_files import AVERAGE, Measured, SharedConditions, measure, sorted_runs
from mdnmt.numbers.rounding import half_up, mean, signed, standard_deviation
from mdnmt.welch import half_width

if TYPE_CHECKING:
    from mdnmt.exhibits.table_request import TableRequest

OTHERS = "others"  # the key of the column of the domains that a model was not trained on
PLACES = 2
ONE_MODEL = "one model of all domains: no domain is another"


class DomainModels(Frozen):
    """A system: one model for all domains, or one for each.

    Attributes:
        group: the heading above it.
        label: its name.
        method: its name in paths.
        models: domain -> the scores of the model that translates it. A model of all domains stands for each of them.
    """

    group: str
    label: str
    method: str
    models: dict[str, ScoreRow]

    @property
    def rows(self) -> list[ScoreRow]:
        """Return the scores of each model once."""
        return list({row.method: row for row in self.models.values()}.values())

    @property
    def missing(self) -> str | None:
        """Return why the system, or one of its models, has no scores."""
        return next((row.missing for row in self.rows if row.missing), None)


@register
class ForgettingTable(TableSpec):
    """Scores of each domain by its own model, and the mean score of these models on all other domains."""

    kind: Literal["forgetting"] = "forgetting"
    columns: tuple[Column, ...]
    systems: tuple[DomainModels, ...]
    metrics: tuple[Metric, ...]
    baseline: str
    baseline_label: str
    notes: tuple[str, ...] = ()

    @classmethod
    def select(cls, request: TableRequest) -> Self:
        """Return the table of a study."""
        systems: dict[str, DomainModels] = {}
        for row, runs, _ in request.rows():
            method = runs[0].method
            label = (row.label or request.study.methods[method].label).replace("{domain}", "each domain")
            before = systems[method].models if method in systems else {}
            models = {**before, **dict.fromkeys(runs[0].domains, request.score_row(row, runs))}
            name = label[:1].upper() + label[1:]  # "Each domain only"
            systems[method] = DomainModels(group=row.group, label=name, method=method, models=models)
        return cls(
            **request.common,
            **request.baseline,
            columns=request.columns,
            systems=tuple(systems.values()),
            metrics=request.table.metrics,
        )

    def inputs(self) -> list[Path]:
        """Return the files that the table is made from."""
        return files_of(self.needs())

    def needs(self) -> tuple[ScoreRow, ...]:
        """Return the scores of all models."""
        return tuple(row for system in self.systems for row in system.rows)

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
        numbers = {system.method: self._measured(system, shared) for system in self.systems}
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
                difference = _difference(ours, base.get((metric, AVERAGE))) if system.method != self.baseline else None
                cells.append(_cell(difference, is_difference=True))
                if text := _interval(difference):
                    intervals.append(f"{system.label}, {header.group}: {text}")
            marks = [reasons.mark(why) for why in (system.missing, None if len(system.rows) > 1 else ONE_MODEL) if why]
            runs = tuple(
                RowRun(seed=run.seed, folder=run.scores.parent.parent.as_posix())
                for row in system.rows
                for run in sorted_runs(row)
            )
            about = {"group": system.group, "label": system.label, "method": system.method, "runs": runs}
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

    def _measured(self, system: DomainModels, shared: SharedConditions) -> dict[tuple[str, str], Measured]:
        """Return the numbers of a system by (metric, column); one that a model or a seed lacks is left out."""
        of_row = {row.method: measure(row, shared) for row in system.rows}
        domains = [column.name for column in self.columns]
        found: dict[tuple[str, str], Measured] = {}
        for metric in self.metrics:
            scores = {
                (own, other): of_row[system.models[own].method].get((metric, other))
                for own in domains
                if own in system.models
                for other in domains
            }
            diagonal = {own: scores.get((own, own)) for own in domains}
            apart = [value for (own, other), value in scores.items() if own != other]
            found |= {(metric, own): value for own, value in diagonal.items() if value is not None}
            several = {AVERAGE: list(diagonal.values()), OTHERS: apart if len(system.rows) > 1 else []}
            for key, values in several.items():
                if (average := _mean(values)) is not None:
                    found[metric, key] = average
        return found

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
        for metric, signatures in shared.signatures.items():
            text = f"{METRICS[metric].label}: {'; '.join(sorted(signatures))}"
            notes.append(text if len(signatures) == 1 else f"Caution, scored in different ways: {text}")
        return notes


def _mean(measured: Iterable[Measured | None]) -> Measured | None:
    """Return the mean of several numbers, seed by seed; None if one is missing or has other seeds."""
    found = list(measured)
    known = [one for one in found if one is not None]
    if not known or len(known) < len(found) or len({one.seeds for one in known}) > 1:
        return None
    return Measured(tuple(mean(values) for values in zip(*(one.values for one in known), strict=True)), known[0].seeds)


def _difference(ours: Measured | None, base: Measured | None) -> Measured | None:
    """Return the differences of two systems with the same seeds."""
    if ours is None or base is None or ours.seeds != base.seeds:
        return None
    return Measured(tuple(a - b for a, b in zip(ours.values, base.values, strict=True)), ours.seeds)


def _interval(difference: Measured | None) -> str | None:
    """Return a mean difference with its interval over seeds; None if nothing can be estimated."""
    spread = standard_deviation(difference.values) if difference is not None else None
    reach = half_width([(spread, len(difference.values))]) if difference is not None and spread else None
    if difference is None or reach is None:
        return None
    middle = mean(difference.values)
    low, high = signed(middle - reach, PLACES), signed(middle + reach, PLACES)
    return f"{signed(middle, PLACES)} [{low}, {high}]"


def _cell(measured: Measured | None, *, is_difference: bool = False) -> Cell:
    if measured is None:
        return Cell()
    middle, spread = mean(measured.values), standard_deviation(measured.values)
    return Cell(
        text=signed(middle, PLACES) if is_difference else half_up(middle, PLACES),
        values=measured.values,
        mean=middle,
        sd=spread,
        spread=None if spread is None else half_up(spread, PLACES),
        num_seeds=measured.num_seeds,
    )
