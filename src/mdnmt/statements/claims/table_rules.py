"""Evaluate claim rules about tables: rows against rows, stars, metrics that agree."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from itertools import combinations

from mdnmt.config.claims import AgreementRule, CellsRule, StarsRule
from mdnmt.exhibits.figure_numbers import rank_correlation
from mdnmt.exhibits.grid import Cell, GridRow
from mdnmt.exhibits.score_files import AVERAGE
from mdnmt.numbers.verdicts import MIN_SEEDS
from mdnmt.statements.claims.exhibit_values import NOT_HERE, Table, absent, absent_exhibit, seed_values
from mdnmt.statements.claims.outcome import Comparison
from mdnmt.statements.claims.seed_samples import Sample, compare, fulfils, of_values
from mdnmt.statements.claims.spec import ClaimsSpec
from mdnmt.statements.claims.wording import METRICS, title_of


def absent_rows(table: Table, methods: Iterable[str]) -> Iterator[Comparison]:
    """Yield a comparison that cannot be made, if methods have no row."""
    names = [method for method in dict.fromkeys(methods) if not table.rows(method)]
    if names:
        yield absent(names, title_of(table.exhibit), NOT_HERE)


def absent_metric(metric: str, table: Table) -> Comparison:
    """Return a comparison that cannot be made, because the table lacks the metric."""
    return absent([METRICS[metric]], title_of(table.exhibit), table.why_without(metric))


def table_comparisons(rule: CellsRule, spec: ClaimsSpec) -> Iterator[Comparison]:
    """Yield the comparisons of rows with rows: every one of `rows` with every one of `than`, column by column."""
    for left_item, right_item in rule.pairs:
        left, right = Table.of(left_item, spec), Table.of(right_item, spec)
        if left is None or right is None:
            for exhibit, table in {left_item: left, right_item: right}.items():
                if table is None:
                    yield absent_exhibit(exhibit, spec)
            continue
        yield from absent_rows(left, rule.rows)
        if right_item != left_item or rule.than:
            yield from absent_rows(right, rule.than or rule.rows)
        for metric in rule.metrics:
            without = [table for table in (left, right) if not table.has(metric)]
            if without:
                yield absent_metric(metric, without[0])
                continue
            for method in rule.rows:
                for other in rule.than or (method,):
                    yield from _compared(rule, left, right, metric, method, other)


def _columns(rule: CellsRule, table: Table, metric: str) -> list[str]:
    if rule.columns == "average":
        return [AVERAGE]
    named = table.keys(metric) if rule.columns == "each" else [table.column(domain) for domain in rule.columns]
    left_out = {table.column(domain) for domain in rule.leaving_out}
    return [key for key in named if key not in left_out]


def _compared(rule: CellsRule, left: Table, right: Table, metric: str, method: str, other: str) -> Iterator[Comparison]:
    """Yield the comparisons of one method with another in one metric; none if the table lacks a method."""
    for key in _columns(rule, left, metric):
        others = [right.column(domain) for domain in rule.than_columns] or [key]
        for table, column in dict.fromkeys([(left.exhibit, key), *((right.exhibit, column) for column in others)]):
            if column != AVERAGE and column not in (left if table == left.exhibit else right).keys(metric):
                yield absent([column], title_of(table), "no domain of this study corresponds to it")
        rows = [row for row, domain in left.rows(method) if domain in (None, key)]
        for column in others:
            for row in rows:
                for its in _rivals(rule, right, other, column):
                    if (left.exhibit, row.method, key) != (right.exhibit, its.method, column):
                        yield _one(rule, (left, row, key), (right, its, column), metric)


def _rivals(rule: CellsRule, table: Table, method: str, column: str) -> list[GridRow]:
    found = table.rows(method)
    if rule.than_trained_on == "others":
        return [row for row, domain in found if domain not in (None, column)]
    return [row for row, domain in found if domain in (None, column)]


def _one(
    rule: CellsRule, left: tuple[Table, GridRow, str], right: tuple[Table, GridRow, str], metric: str
) -> Comparison:
    samples = []
    for table, row, key in (left, right):
        if (sample := table.sample(row, metric, key)) is None:
            return table.lacks(row, metric, key)
        samples.append(sample)
    (table, row, key), (other_table, other_row, other_key) = left, right
    rival = other_row.label
    if other_key != key:
        rival += f" ({other_table.label(metric, other_key)})"
    if other_table.exhibit != table.exhibit:
        rival += f" of {title_of(other_table.exhibit)}"
    what = f"{table.label(metric, key)}: {row.label} against {rival}"
    printed = [table.published(row, metric, key), other_table.published(other_row, metric, other_key)]
    same_models = table.exhibit == other_table.exhibit and row.method == other_row.method
    return compare(
        rule,
        samples[0],
        samples[1],
        times=rule.times,
        paired=same_models,
        what=what,
        group=row.label if rule.per_row else "",
        in_print=_in_print(rule, *printed),
    )


def _in_print(rule: CellsRule, left: float | None, right: float | None) -> bool | None:
    """Return whether the paper's own two numbers fulfil a rule; None if it does not print both."""
    if left is None or right is None:
        return None
    difference = round(left - rule.times * right, 9)  # as printed, without float rounding errors
    return fulfils(rule, difference, difference)


def star_comparisons(rule: StarsRule, spec: ClaimsSpec) -> Iterator[Comparison]:
    """Yield a comparison for each cell: is it better than the table's baseline, as its star says?"""
    table = Table.of(rule.table, spec)
    if table is None:
        yield absent_exhibit(rule.table, spec)
        return
    yield from absent_rows(table, rule.rows)
    for metric in rule.metrics:
        if not table.has(metric):
            yield absent_metric(metric, table)
            continue
        rows = [row for method in rule.rows for row, domain in table.rows(method) if domain is None]
        for row in rows:
            for key in table.keys(metric):
                cell = table.cell(row, metric, key)
                if cell is None or cell.mean is None:
                    yield table.lacks(row, metric, key)
                elif cell.p is None or cell.delta is None:
                    yield absent(["the significance test"], title_of(rule.table), "not made")
                else:
                    holds = _starred(cell)
                    # Corrected stars count as certain: the table has already corrected for the number of comparisons.
                    uncorrected = holds is not None and table.grid.correction == "none"
                    yield Comparison(
                        what=f"{table.label(metric, key)}: {row.label} against {table.grid.baseline_label}",
                        left=cell.mean,
                        right=cell.mean - cell.delta,
                        difference=cell.delta,
                        half_width=_reach(cell),
                        toward=cell.star,
                        holds=holds,
                        p=cell.p if uncorrected else None,
                        tested=cell.num_seeds >= MIN_SEEDS,
                        num_seeds=cell.num_seeds,
                    )


def _starred(cell: Cell) -> bool | None:
    """Return whether a cell is significantly better (True) or significantly worse (False) than the baseline.

    None: neither, or fewer than three seeds. A missing star alone does not show that a cell is not better.
    """
    if cell.num_seeds < MIN_SEEDS or cell.verdict is None:
        return None
    return cell.star


def _reach(cell: Cell) -> float | None:
    """Return half the width of a difference's 95 % interval, if it covers seeds and sentences; otherwise None."""
    tested = cell.tested
    return (tested.high - tested.low) / 2 if tested is not None and tested.p_seeds is not None else None


def agreement_comparisons(rule: AgreementRule, spec: ClaimsSpec) -> Iterator[Comparison]:
    """Yield a comparison for each pair of metrics (and column): their rank correlation over the rows."""
    table = Table.of(rule.table, spec)
    if table is None:
        yield absent_exhibit(rule.table, spec)
        return
    yield from absent_rows(table, rule.rows)
    rows = [row for method in rule.rows for row, domain in table.rows(method) if domain is None]
    lacking = [metric for metric in rule.metrics if not table.has(metric)]
    yield from (absent_metric(metric, table) for metric in lacking)
    there = [metric for metric in rule.metrics if metric not in lacking]
    for one, other in combinations(there, 2):
        for key in [AVERAGE] if rule.columns == "average" else table.keys(one):
            lacks = [(row, m) for row in rows for m in (one, other) if table.sample(row, m, key) is None]
            yield from (table.lacks(row, metric, key) for row, metric in lacks)
            found = [row for row in rows if row not in [row for row, _ in lacks]]
            if len(found) < 3:
                yield absent(["three rows or more"], title_of(rule.table), f"{len(found)} found")
                continue
            where = "averages" if key == AVERAGE else table.label(one, key).partition(" on ")[2]
            what = f"{METRICS[one]} with {METRICS[other]} over {len(found)} systems ({where})"
            sample = _agreement(table, found, (one, other), key)
            if math.isnan(sample.mean):
                yield absent([what], title_of(rule.table), "undefined: all systems have the same score")
            else:
                yield compare(rule, sample, what=what)


def _agreement(table: Table, rows: list[GridRow], metrics: tuple[str, str], key: str) -> Sample:
    """Return the rank correlation for each seed; if the table has only means, that of the means, as for one seed.

    It is NaN if it is undefined for one of the seeds.
    """
    cells = [[cell for row in rows if (cell := table.cell(row, metric, key))] for metric in metrics]
    values = [[seed_values(cell) for cell in of_metric] for of_metric in cells]
    counts = {len(seeds) for of_metric in values for seeds in of_metric}
    if len(counts) == 1 and (count := counts.pop()) > 0:
        each = (([seeds[k] for seeds in of_metric] for of_metric in values) for k in range(count))
        return of_values([rank_correlation(*of_seed) for of_seed in each])
    trained = any(cell.num_seeds for of_metric in cells for cell in of_metric)
    of_means = rank_correlation(*([cell.mean or 0.0 for cell in of_metric] for of_metric in cells))
    return Sample(of_means, slack=None if trained else 0.0)
