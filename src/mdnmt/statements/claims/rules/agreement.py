"""Whether metrics rank systems alike: their rank correlation over the rows of a table."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations
from typing import Literal

from pydantic import Field

from mdnmt.config.claim_rule import Rule, Threshold, Use, claim_rule
from mdnmt.config.metrics import Metric
from mdnmt.config.task import Name
from mdnmt.exhibits.grid import GridRow
from mdnmt.exhibits.seed_scores import AVERAGE
from mdnmt.statements.claims.evidence import Evidence, Table, absent, seed_values
from mdnmt.statements.claims.outcome import Comparison
from mdnmt.statements.claims.seed_samples import Sample, compare, of_values
from mdnmt.statements.claims.wording import alone, listed, metric_words, needed_words, title_of


@claim_rule
class AgreementRule(Threshold, Rule):
    """The rank correlation between metrics, over the rows of a table."""

    kind: Literal["agreement"] = Field(description="whether metrics rank systems alike")
    table: Name = Field(description="of this paper")
    rows: tuple[Name, ...] = Field(min_length=3, description="methods, which the metrics rank")
    metrics: tuple[Metric, ...] = Field(min_length=2, description="each pair is compared")
    columns: Literal["each", "average"] = Field("average", description="each domain, or their average")

    def uses(self) -> Iterator[Use]:
        """Yield the table."""
        yield Use("tables", self.table, self.rows, self.metrics)

    def words(self) -> str:
        """Return the rule as a sentence."""
        where = "averages" if self.columns == "average" else "scores on each domain"
        metrics = listed(metric_words(metric) for metric in self.metrics)
        return (
            f"{title_of(self.table)}: the rank correlation of any two of {metrics} "
            f"over the {where} of {listed(self.rows)} {alone(self)}, {needed_words(self.needed)}."
        )

    def sides(self) -> Iterator[tuple[str, ...]]:
        """Yield each pair of metrics."""
        yield from ((f"{one} {other}",) for one, other in combinations(self.metrics, 2))

    def comparisons(self, evidence: Evidence) -> Iterator[Comparison]:
        """Yield a comparison for each pair of metrics (and column): their rank correlation over the rows."""
        table = evidence.table(self.table)
        if table is None:
            yield evidence.absent(self.table)
            return
        yield from table.without_rows(self.rows)
        rows = [row for method in self.rows for row, domain in table.rows(method) if domain is None]
        lacking = [metric for metric in self.metrics if not table.has(metric)]
        yield from map(table.without_metric, lacking)
        for one, other in combinations([metric for metric in self.metrics if metric not in lacking], 2):
            for key in [AVERAGE] if self.columns == "average" else table.keys(one):
                yield from self._compared(table, rows, (one, other), key)

    def _compared(self, table: Table, rows: list[GridRow], metrics: tuple[str, str], key: str) -> Iterator[Comparison]:
        lacks = [(row, metric) for row in rows for metric in metrics if table.sample(row, metric, key) is None]
        yield from (table.lacks(row, metric, key) for row, metric in lacks)
        found = [row for row in rows if row not in [row for row, _ in lacks]]
        if len(found) < 3:
            yield absent(["three rows or more"], table.title, f"{len(found)} found")
            return
        one, other = metrics
        where = "averages" if key == AVERAGE else table.label(one, key).partition(" on ")[2]
        what = f"{metric_words(one)} with {metric_words(other)} over {len(found)} systems ({where})"
        sample = _correlation(table, found, metrics, key)
        if math.isnan(sample.mean):
            yield absent([what], table.title, "undefined: all systems have the same score")
        else:
            yield compare(self, sample, what=what)


def _correlation(table: Table, rows: list[GridRow], metrics: tuple[str, str], key: str) -> Sample:
    """Return the rank correlation for each seed; if the table has only means, that of the means, as for one seed.

    It is NaN if it is undefined for one of the seeds.
    """
    # Imported here: it needs numpy, which a study is resolved without.
    from mdnmt.exhibits.figure_numbers import rank_correlation

    cells = [[cell for row in rows if (cell := table.cell(row, metric, key))] for metric in metrics]
    values = [[seed_values(cell) for cell in of_metric] for of_metric in cells]
    counts = {len(seeds) for of_metric in values for seeds in of_metric}
    if len(counts) == 1 and (count := counts.pop()) > 0:
        each = (([seeds[k] for seeds in of_metric] for of_metric in values) for k in range(count))
        return of_values([rank_correlation(*of_seed) for of_seed in each])
    trained = any(cell.num_seeds for of_metric in cells for cell in of_metric)
    of_means = rank_correlation(*([cell.mean or 0.0 for cell in of_metric] for of_metric in cells))
    return Sample(of_means, slack=None if trained else 0.0)
