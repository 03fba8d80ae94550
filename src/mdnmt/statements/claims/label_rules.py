"""Evaluate claim rules about domain labels: what wrong, missing or predicted labels cost a system."""

from __future__ import annotations

from collections.abc import Iterator

from mdnmt.config.claims import LabelsRule
from mdnmt.exhibits.grid import GridRow
from mdnmt.exhibits.score_files import AVERAGE
from mdnmt.statements.claims.exhibit_values import Table, absent, absent_exhibit, seed_values
from mdnmt.statements.claims.outcome import Comparison
from mdnmt.statements.claims.seed_samples import Sample, compare, of_values
from mdnmt.statements.claims.spec import ClaimsSpec
from mdnmt.statements.claims.table_rules import absent_metric, absent_rows
from mdnmt.statements.claims.wording import title_of


def label_comparisons(rule: LabelsRule, spec: ClaimsSpec) -> Iterator[Comparison]:
    """Yield the cost of each label condition to each system, minus its cost to each system of `than`."""
    table = Table.of(rule.table, spec)
    if table is None:
        yield absent_exhibit(rule.table, spec)
        return
    methods = (*rule.rows, *rule.than)
    yield from absent_rows(table, methods)
    known = [method for method in methods if table.rows(method)]
    lacking = [(method, labels) for labels in rule.labels for method in known if not _under(table, method, labels)]
    for method, labels in lacking:
        yield absent([f"{method} under {labels} labels"], title_of(table.exhibit), "not translated so")
    for metric in rule.metrics:
        if not table.has(metric):
            yield absent_metric(metric, table)
            continue
        for key in [AVERAGE] if rule.columns == "average" else table.keys(metric):
            for labels in rule.labels:
                there = [method for method in known if (method, labels) not in lacking]
                yield from _compared(rule, table, metric, key, labels, there)


def _compared(
    rule: LabelsRule, table: Table, metric: str, key: str, labels: str, there: list[str]
) -> Iterator[Comparison]:
    for method in (method for method in rule.rows if method in there):
        for other in rule.than or (None,):
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
            yield compare(rule, samples[0], samples[1] if len(samples) > 1 else None, what=what)


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
            return absent([f"{method} under {condition} labels"], title_of(table.exhibit), "not translated so")
        cell = table.cell(row, metric, key)
        if cell is None or cell.mean is None:
            return table.lacks(row, metric, key)
        values.append((tuple(run.seed for run in row.runs), seed_values(cell)))
    (gold_seeds, gold), (other_seeds, other) = values
    if not gold or gold_seeds != other_seeds or len(gold) != len(other):
        return absent(
            [f"{table.label(metric, key)} of the same seeds of {method}"], title_of(table.exhibit), "not there"
        )
    return of_values([one - another for one, another in zip(gold, other, strict=True)])
