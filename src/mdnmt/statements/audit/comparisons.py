"""Check which row is better, and whether numbers and names agree."""

from __future__ import annotations

from decimal import Decimal

from mdnmt.config.audit import Distance, Names, Order, SameRow
from mdnmt.statements.audit.cells import other_paper, readable_measure, split_measure
from mdnmt.statements.audit.finding import CheckResult
from mdnmt.statements.audit.printed_numbers import mean, show
from mdnmt.statements.audit.printed_tables import AuditInput


def order(inputs: AuditInput, paper: str, check: Order) -> CheckResult:
    """Report where a row is not better than another, although the text says so."""
    broken: list[str] = []
    compared = agreed = 0
    groups = [check.measures] if check.averaged else [(measure,) for measure in check.measures]
    one_metric = len({split_measure(measure)[1] for measure in check.measures}) == 1
    for group in groups:
        values = {
            row: mean(inputs.value(paper, check.table, row, measure) for measure in group)
            for row in check.better + check.than
        }
        name = split_measure(group[0])[0] if one_metric else readable_measure(group[0])
        for other in check.than:
            not_better = [row for row in check.better if not _better(values[row], values[other], smaller=check.smaller)]
            compared += len(check.better)
            agreed += len(check.better) - len(not_better)
            if not_better:
                values_of = ", ".join(f"{row} {show(values[row])}" for row in not_better)
                where = "on average" if check.averaged else name
                broken.append(f"{where}: {values_of} against {other} {show(values[other])}")
    return CheckResult("; ".join(broken) or f"true of all {compared}", compared, agreed)


def _better(first: Decimal, second: Decimal, *, smaller: bool) -> bool:
    return first < second if smaller else first > second


def distance(inputs: AuditInput, paper: str, check: Distance) -> CheckResult:
    """Compute how far the numbers of each pair are apart."""
    found: list[str] = []
    agreed = 0
    for first, second in check.pairs:
        left, right = inputs.cell(paper, first), inputs.cell(paper, second)
        apart = abs(left - right)
        agreed += apart <= check.at_most if check.at_most is not None else apart > (check.more_than or 0)
        found.append(f"{show(left)} and {show(right)}" + (f" ({whose})" if (whose := other_paper(second)) else ""))
    return CheckResult("; ".join(found), len(check.pairs), agreed)


def same_row(inputs: AuditInput, paper: str, check: SameRow) -> CheckResult:
    """Find the row of another table that has the same numbers as a row."""
    found: list[str] = []
    agreed = 0
    for row, expected in check.rows.items():
        wanted = [inputs.value(paper, check.table, row, measure) for measure in check.measures]
        same = [
            other
            for other in inputs.published[paper].rows(check.other_table)
            if [inputs.value(paper, check.other_table, other, measure) for measure in check.other_measures] == wanted
        ]
        agreed += expected in same
        found.append(f"{row} has the numbers of {' and '.join(same) or 'no row'}")
    return CheckResult("; ".join(found), len(check.rows), agreed)


def names(inputs: AuditInput, paper: str, check: Names) -> CheckResult:
    """Compare the names in two tables."""
    published = inputs.published[paper]
    listed = published.rows if check.of == "rows" else published.columns
    first, second = (listed(table) for table in check.tables)
    alone = [(check.tables[0], [name for name in first if name not in second])]
    alone += [(check.tables[1], [name for name in second if name not in first])]
    parts = [f"only in {table}: {', '.join(found)}" for table, found in alone if found]
    shared = len(set(first) & set(second))
    return CheckResult("; ".join(parts) or "the same", len({*first, *second}), shared)
