"""Rows of a table against other rows: each of `rows` minus each of `than`, in each column and metric."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from mdnmt.config.claim_rule import Rule, Threshold, Use, claim_rule, require_known
from mdnmt.config.loader import did_you_mean
from mdnmt.config.metrics import METRICS
from mdnmt.config.paper import PaperConfig
from mdnmt.config.task import Name
from mdnmt.exhibits.grid import GridRow
from mdnmt.exhibits.seed_scores import AVERAGE
from mdnmt.statements.claims.evidence import Evidence, Pair, Place, Table, absent
from mdnmt.statements.claims.outcome import Comparison
from mdnmt.statements.claims.seed_samples import compare, fulfils
from mdnmt.statements.claims.wording import QUANTITIES, against, any_of, listed, metric_words, needed_words, title_of


def _known(name: str) -> str:
    if name not in METRICS and name not in QUANTITIES:
        known = (*METRICS, *QUANTITIES)
        raise ValueError(f"{name!r} is no metric{did_you_mean(name, known)}; there are: {', '.join(known)}")
    return name


@claim_rule
class CellsRule(Threshold, Rule):
    """Differences between rows: each of `rows` minus each of `than`, in each column and metric."""

    kind: Literal["cells"] = Field(description="scores or resources of a table")
    table: Name | None = Field(None, description="of this paper")
    tables: dict[Name, Name] = Field({}, description="in place of table: that of rows -> that of than")
    metrics: tuple[Annotated[str, AfterValidator(_known)], ...] = Field(
        ("bleu",), min_length=1, description="of the table; one comparison each"
    )
    columns: Literal["each", "average"] | tuple[Name, ...] = Field(
        "each", description="each domain, their average, or domains of the paper's own task"
    )
    leaving_out: tuple[Name, ...] = Field((), description="domains of the paper's own task")
    rows: tuple[Name, ...] = Field(
        min_length=1, description="methods; a model trained on one domain is compared in that domain's column"
    )
    than: tuple[Name, ...] = Field((), description="methods; none: the same method in another table or column")
    than_columns: tuple[Name, ...] = Field((), description="columns of than; none: the same column")
    than_trained_on: Literal["own", "others"] = Field(
        "own", description="of models trained on one domain each: that of the column's domain, or all others"
    )
    times: float = Field(1.0, gt=0, description="factor of the right side (`than`)")
    per_row: bool = Field(False, description="each of `rows` must reach the share by itself")

    @model_validator(mode="after")
    def _compares_two_things(self) -> Self:
        if (self.table is None) == (not self.tables):
            raise ValueError("a rule has either `table` or `tables`")
        same_table = any(left == right for left, right in self.compared_tables)
        if not self.than and same_table and not self.than_columns:
            raise ValueError("without `than`, a rule needs other `tables` or `than_columns`")
        return self

    @property
    def compared_tables(self) -> tuple[tuple[str, str], ...]:
        """Return (table of rows, table of than)."""
        return ((self.table, self.table),) if self.table is not None else tuple(self.tables.items())

    def uses(self) -> Iterator[Use]:
        """Yield each pair of tables."""
        for left, right in self.compared_tables:
            yield Use("tables", left, self.rows, self.metrics)
            yield Use("tables", right, self.than or self.rows, self.metrics)

    def check(self, paper: PaperConfig) -> None:
        """Check that each table has the domains."""
        named = self.columns if isinstance(self.columns, tuple) else ()
        for exhibit in dict.fromkeys(exhibit for pair in self.compared_tables for exhibit in pair):
            domains = paper.tables[exhibit].printed_columns
            for domain in (*named, *self.leaving_out, *self.than_columns) if domains else ():
                require_known(domain, domains, f"{exhibit} has no domain")

    def without(self, left_out: Collection[str]) -> Self:
        """Return the rule without the pairs with such a table; one that would lose all keeps them, undecided."""
        kept = {left: right for left, right in self.tables.items() if not {left, right} & set(left_out)}
        return self.model_copy(update={"tables": kept}) if kept else self

    def words(self) -> str:
        """Return the rule as a sentence."""
        columns = self.columns
        where = {"each": "on each domain", "average": "on average"}.get(str(columns)) or f"on {listed(columns)}"
        if all(metric not in QUANTITIES for metric in self.metrics):
            where = f" {where}" + (f" but {listed(self.leaving_out)}" if self.leaving_out else "")
        else:
            where = ""
        left = listed(title_of(left) for left, _ in self.compared_tables)
        right = listed(title_of(right) for _, right in self.compared_tables)
        other = f"that of {any_of(self.than)}" if self.than else "its own"
        if self.than and self.than_trained_on == "others":
            other += " trained on another domain"
        if self.than_columns:
            other += f" on {any_of(self.than_columns)}"
        if right != left:
            other += f" in {right}"
        metrics = listed((metric_words(metric) for metric in self.metrics), "or")
        share = needed_words(self.needed) + (" of each of the former" if self.per_row else "")
        return f"{left}: {metrics}{where} of {any_of(self.rows)} {against(self, other, self.times)}, {share}."

    def comparisons(self, evidence: Evidence) -> Iterator[Comparison]:
        """Yield every one of `rows` against every one of `than`, column by column."""
        for one in self.pairs(evidence):
            yield self._compared(one) if isinstance(one, Pair) else one

    def pairs(self, evidence: Evidence) -> Iterator[Pair | Comparison]:
        """Yield the cells that are compared, and what is missing."""
        for left_item, right_item in self.compared_tables:
            left, right = evidence.table(left_item), evidence.table(right_item)
            if left is None or right is None:
                absent_ones = [item for item, table in {left_item: left, right_item: right}.items() if table is None]
                yield from map(evidence.absent, absent_ones)
                continue
            yield from left.without_rows(self.rows)
            if right_item != left_item or self.than:
                yield from right.without_rows(self.than or self.rows)
            for metric in self.metrics:
                without = [table for table in (left, right) if not table.has(metric)]
                if without:
                    yield without[0].without_metric(metric)
                    continue
                for method in self.rows:
                    for other in self.than or (method,):
                        yield from self._of_methods(left, right, metric, method, other)

    def _columns(self, table: Table, metric: str) -> list[str]:
        if self.columns == "average":
            return [AVERAGE]
        named = table.keys(metric) if self.columns == "each" else [table.column(domain) for domain in self.columns]
        left_out = {table.column(domain) for domain in self.leaving_out}
        return [key for key in named if key not in left_out]

    def _of_methods(
        self, left: Table, right: Table, metric: str, method: str, other: str
    ) -> Iterator[Pair | Comparison]:
        """Yield the pairs of one method with another in one metric; none if the table lacks a method."""
        bound = self.bound
        for key in self._columns(left, metric):
            others = [right.column(domain) for domain in self.than_columns] or [key]
            for exhibit, column in dict.fromkeys(
                [(left.exhibit, key), *((right.exhibit, column) for column in others)]
            ):
                if column != AVERAGE and column not in (left if exhibit == left.exhibit else right).keys(metric):
                    yield absent([column], title_of(exhibit), "no domain of this study corresponds to it")
            rows = [row for row, domain in left.rows(method) if domain in (None, key)]
            for column in others:
                for row in rows:
                    for its in self._rivals(right, other, column):
                        if (left.exhibit, row.method, key) != (right.exhibit, its.method, column):
                            places = Place(left, row, metric, key), Place(right, its, metric, column)
                            yield Pair(*places, self.times, bound, row.label if self.per_row else "")

    def _rivals(self, table: Table, method: str, column: str) -> list[GridRow]:
        found = table.rows(method)
        if self.than_trained_on == "others":
            return [row for row, domain in found if domain not in (None, column)]
        return [row for row, domain in found if domain in (None, column)]

    def _compared(self, pair: Pair) -> Comparison:
        left, right = pair.left, pair.right
        sample, its = left.sample, right.sample
        if sample is None or its is None:
            return (left if sample is None else right).lacks
        rival = right.row.label
        if right.key != left.key:
            rival += f" ({right.table.label(right.metric, right.key)})"
        if right.table.exhibit != left.table.exhibit:
            rival += f" of {right.table.title}"
        same_models = left.table.exhibit == right.table.exhibit and left.row.method == right.row.method
        return compare(
            self,
            sample,
            its,
            times=self.times,
            paired=same_models,
            what=f"{left.table.label(left.metric, left.key)}: {left.row.label} against {rival}",
            group=pair.group,
            in_print=self._in_print(left.published, right.published),
        )

    def _in_print(self, left: float | None, right: float | None) -> bool | None:
        """Return whether the paper's own two numbers fulfil the rule; None if it does not print both."""
        if left is None or right is None:
            return None
        difference = round(left - self.times * right, 9)  # as printed, without float rounding errors
        return fulfils(self, difference, difference)
