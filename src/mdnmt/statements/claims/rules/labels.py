"""What other domain labels cost: the score under gold labels minus the score under others, seed by seed."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Literal, Self

from pydantic import Field, model_validator

from mdnmt.config.claim_rule import Rule, Threshold, Use, claim_rule, require_known
from mdnmt.config.decoding import Labels
from mdnmt.config.metrics import Metric
from mdnmt.config.paper import PaperConfig
from mdnmt.config.task import Name
from mdnmt.exhibits.grid import GridRow
from mdnmt.exhibits.seed_scores import AVERAGE
from mdnmt.statements.claims.evidence import Evidence, Table, absent, seed_values
from mdnmt.statements.claims.outcome import Comparison
from mdnmt.statements.claims.seed_samples import Sample, compare, of_values
from mdnmt.statements.claims.wording import against, alone, any_of, listed, metric_words, needed_words, title_of


@claim_rule
class LabelsRule(Threshold, Rule):
    """What other domain labels cost: the score under gold labels minus the score under others, seed by seed.

    The cost of each of `rows` minus the cost of each of `than`; without `than`, the cost itself.
    """

    kind: Literal["labels"] = Field(description="what other domain labels cost")
    table: Name = Field(description="whose rows are translated under several label conditions: mdnmt-labels")
    metrics: tuple[Metric, ...] = Field(("bleu",), min_length=1, description="of the table; one comparison each")
    columns: Literal["each", "average"] = Field("average", description="each domain, or their average")
    labels: tuple[Labels, ...] = Field(min_length=1, description="wrong, missing or predicted")
    rows: tuple[Name, ...] = Field(min_length=1, description="methods")
    than: tuple[Name, ...] = Field((), description="methods; none: the cost itself")

    @model_validator(mode="after")
    def _gold_labels_cost_nothing(self) -> Self:
        if "given" in self.labels:
            raise ValueError("labels: gold labels (given) are what the others are compared with; leave them out")
        return self

    def uses(self) -> Iterator[Use]:
        """Yield the table."""
        yield Use("tables", self.table, (*self.rows, *self.than), self.metrics)

    def check(self, paper: PaperConfig) -> None:
        """Check that the table shows each method under the label conditions."""
        for row in paper.tables[self.table].rows:
            for labels in ("given", *self.labels) if row.method in (*self.rows, *self.than) else ():
                require_known(labels, row.labels, f"{self.table} does not show {row.method} under the labels")

    def words(self) -> str:
        """Return the rule as a sentence."""
        metrics, labels = listed((metric_words(metric) for metric in self.metrics), "or"), listed(self.labels, "or")
        where = "on average" if self.columns == "average" else "on each domain"
        needed = needed_words(self.needed)
        left = f"{title_of(self.table)}: the {metrics} {where} that {labels} domain labels cost {any_of(self.rows)}"
        if not self.than:
            return f"{left} {alone(self)}, {needed}."
        return f"{left} {against(self, f'what they cost {any_of(self.than)}')}, {needed}."

    def sides(self) -> Iterator[tuple[str, ...]]:
        """Yield the cost of each label condition to each system, and its cost to each system of `than`."""
        for method, labels, metric in product(self.rows, self.labels, self.metrics):
            left = f"{method} {labels} {metric}"
            yield from ((left, f"{other} {labels} {metric}") for other in self.than)
            if not self.than:
                yield (left,)

    def comparisons(self, evidence: Evidence) -> Iterator[Comparison]:
        """Yield the cost of each label condition to each system, minus its cost to each system of `than`."""
        table = evidence.table(self.table)
        if table is None:
            yield evidence.absent(self.table)
            return
        methods = (*self.rows, *self.than)
        yield from table.without_rows(methods)
        known = [method for method in methods if table.rows(method)]
        lacking = [(method, labels) for labels in self.labels for method in known if not _under(table, method, labels)]
        for method, labels in lacking:
            yield absent([f"{method} under {labels} labels"], table.title, "not translated so")
        for metric in self.metrics:
            if not table.has(metric):
                yield table.without_metric(metric)
                continue
            for key in [AVERAGE] if self.columns == "average" else table.keys(metric):
                for labels in self.labels:
                    there = [method for method in known if (method, labels) not in lacking]
                    yield from self._compared(table, metric, key, labels, there)

    def _compared(self, table: Table, metric: str, key: str, labels: str, there: list[str]) -> Iterator[Comparison]:
        for method in (method for method in self.rows if method in there):
            for other in self.than or (None,):
                if other is not None and other not in there:
                    continue
                costs = [_cost(table, name, metric, key, labels) for name in (method, other) if name is not None]
                missing = [cost for cost in costs if isinstance(cost, Comparison)]
                samples = [cost for cost in costs if isinstance(cost, Sample)]
                if missing:
                    yield from missing
                    continue
                names = " against ".join(_label(table, name) for name in (method, other) if name is not None)
                what = f"{table.label(metric, key)} lost under {labels} labels: {names}"
                yield compare(self, samples[0], samples[1] if len(samples) > 1 else None, what=what)


def _under(table: Table, method: str, labels: str) -> GridRow | None:
    """Return the row of a system under a label condition."""
    suffix = "" if labels == "given" else f"@{labels}"
    names = {f"{name}{suffix}" for name in table.spec.names(table.exhibit, method)}
    return next((row for row in table.grid.rows if row.method in names), None)


def _label(table: Table, method: str) -> str:
    row = _under(table, method, "given")
    return method if row is None else row.label.removesuffix(", label given")


def _cost(table: Table, method: str, metric: str, key: str, labels: str) -> Sample | Comparison:
    """Return the score under gold labels minus the score under others, or what is missing to compute it.

    Both are scores of the same models, so the difference is taken seed by seed.
    """
    values = []
    for condition in ("given", labels):
        row = _under(table, method, condition)
        if row is None:
            return absent([f"{method} under {condition} labels"], table.title, "not translated so")
        cell = table.cell(row, metric, key)
        if cell is None or cell.mean is None:
            return table.lacks(row, metric, key)
        values.append((tuple(run.seed for run in row.runs), seed_values(cell)))
    (gold_seeds, gold), (other_seeds, other) = values
    if not gold or gold_seeds != other_seeds or len(gold) != len(other):
        return absent([f"{table.label(metric, key)} of the same seeds of {method}"], table.title, "not there")
    return of_values([one - another for one, another in zip(gold, other, strict=True)])
