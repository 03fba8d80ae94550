"""Cells of a table that are significantly better than its baseline."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from mdnmt.config.claim_rule import Rule, Use, claim_rule
from mdnmt.config.metrics import Metric
from mdnmt.config.task import Name
from mdnmt.exhibits.grid import Cell, GridRow
from mdnmt.numbers.verdicts import MIN_SEEDS
from mdnmt.statements.claims.evidence import Evidence, Pair, Place, absent
from mdnmt.statements.claims.outcome import Comparison
from mdnmt.statements.claims.wording import any_of, listed, metric_words, needed_words, title_of


@claim_rule
class StarsRule(Rule):
    """Cells that are significantly better than the table's baseline."""

    kind: Literal["stars"] = Field(description="significance in a table")
    table: Name = Field(description="of this paper")
    metrics: tuple[Metric, ...] = Field(("bleu",), min_length=1, description="of the table; one comparison each")
    rows: tuple[Name, ...] = Field(min_length=1, description="methods")

    def uses(self) -> Iterator[Use]:
        """Yield the table."""
        yield Use("tables", self.table, self.rows, self.metrics)

    def words(self) -> str:
        """Return the rule as a sentence."""
        metrics = listed((metric_words(metric) for metric in self.metrics), "or")
        return (
            f"{title_of(self.table)}: {metrics} on each domain of {any_of(self.rows)} is significantly better "
            f"than the baseline's (starred), {needed_words(self.needed, 'cells')}."
        )

    def comparisons(self, evidence: Evidence) -> Iterator[Comparison]:
        """Yield a comparison for each cell: is it better than the table's baseline, as its star says?"""
        for one in self._places(evidence):
            yield _compared(one) if isinstance(one, Place) else one

    def pairs(self, evidence: Evidence) -> Iterator[Pair | Comparison]:
        """Yield each cell with that of the baseline."""
        for one in self._places(evidence):
            if isinstance(one, Comparison):
                yield one
                continue
            grid = one.table.grid
            baseline: list[GridRow] = [row for row in grid.rows if row.method == grid.baseline]
            if baseline:
                yield Pair(one, one._replace(row=baseline[0]))
            else:
                yield absent(["the significance test"], one.table.title, "not made")

    def _places(self, evidence: Evidence) -> Iterator[Place | Comparison]:
        table = evidence.table(self.table)
        if table is None:
            yield evidence.absent(self.table)
            return
        yield from table.without_rows(self.rows)
        for metric in self.metrics:
            if not table.has(metric):
                yield table.without_metric(metric)
                continue
            rows = [row for method in self.rows for row, domain in table.rows(method) if domain is None]
            yield from (Place(table, row, metric, key) for row in rows for key in table.keys(metric))


def _compared(place: Place) -> Comparison:
    table, row = place.table, place.row
    cell = table.cell(row, place.metric, place.key)
    if cell is None or cell.mean is None:
        return place.lacks
    if cell.p is None or cell.delta is None:
        return absent(["the significance test"], table.title, "not made")
    holds = _starred(cell)
    # Corrected stars count as certain: the table has already corrected for the number of comparisons.
    uncorrected = holds is not None and table.grid.correction == "none"
    return Comparison(
        what=f"{table.label(place.metric, place.key)}: {row.label} against {table.grid.baseline_label}",
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
