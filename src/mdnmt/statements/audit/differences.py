"""Check the numbers that a text gives for the difference, or the ratio, of two rows."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from mdnmt.config.audit import Difference, GainList, Gains, Range, Stated
from mdnmt.statements.audit.cells import readable_measure
from mdnmt.statements.audit.finding import CheckResult
from mdnmt.statements.audit.printed_numbers import mean, rounded, show, show_signed, unit_of
from mdnmt.statements.audit.printed_tables import AuditInput
from mdnmt.statements.audit.sweeps import CheckedNumber


def _between(inputs: AuditInput, paper: str, check: Difference, row: str, other: str, measure: str) -> Decimal:
    first, second = (inputs.value(paper, check.table, name, measure) for name in (row, other))
    return first - second if check.by == "difference" else first / second


def _text(check: Difference, value: Decimal) -> str:
    return show_signed(value) if check.by == "difference" else show(value, 2)


def _whose(check: Difference, row: str, other: str) -> str:
    names = [row] * (len(check.rows) > 1) + [f"against {other}"] * (len(check.against) > 1)
    return f" ({' '.join(names)})" if names else ""


def stated(inputs: AuditInput, paper: str, check: Stated) -> CheckResult:
    """Compute the number that a text states, for each pair of rows that it may refer to."""
    found: list[str] = []
    met = False
    for row in check.rows:
        for other in check.against:
            value = mean(_between(inputs, paper, check, row, other, measure) for measure in check.measures)
            met |= rounded(value, unit_of(check.number)) == check.number
            found.append(_text(check, value) + _whose(check, row, other))
    return CheckResult(", ".join(found), 1, int(met))


def within(inputs: AuditInput, paper: str, check: Range) -> CheckResult:
    """Compute the differences for which a text gives a range."""
    found: dict[str, list[str]] = {}
    outside: list[str] = []
    still: list[str] = []
    compared = 0
    for measure in check.measures:
        for row in check.rows:
            for other in check.against:
                value = _between(inputs, paper, check, row, other, measure)
                compared += 1
                found.setdefault(readable_measure(measure), []).append(_text(check, value))
                if not _inside(check, value, exact=True):
                    outside.append(_text(check, value))
                    if not _inside(check, value, exact=False):
                        still.append(_text(check, value))
    parts = [(f"{name} " if len(found) > 1 else "") + ", ".join(values) for name, values in found.items()]
    if outside:
        parts.append(f"outside: {', '.join(outside)}; still once rounded like the range: {', '.join(still) or 'none'}")
    return CheckResult("; ".join(parts), compared, compared - len(outside))


def _inside(check: Range, value: Decimal, *, exact: bool) -> bool:
    for limit, sign in ((check.low, 1), (check.high, -1)):
        if limit is None:
            continue
        held = value if exact else rounded(value, unit_of(limit))
        if (held - limit) * sign < 0:
            return False
    return True


def gains(inputs: AuditInput, paper: str, check: Gains) -> Iterator[CheckedNumber]:
    """Compare each gain that a text lists with the gains of the rows that it may refer to."""
    for listed in check.lists:
        for over, numbers in listed.over.items():
            for metric, number in numbers.items():
                values = _gains(inputs, paper, listed, over, metric)
                met = _meeting(values, number)
                shown = ", ".join(f"{show_signed(value)} ({row})" for row, value in values.items())
                cell = f"{listed.table} | {over} | {listed.column}/{metric}"
                yield CheckedNumber(cell, bool(met), f"{number:+}", shown)


def gains_of_one_row(inputs: AuditInput, paper: str, check: Gains) -> CheckResult:
    """Report each list of gains over a row in which no single row has all of the gains."""
    mixed: list[str] = []
    compared = 0
    for listed in check.lists:
        for over, numbers in listed.over.items():
            met = {
                metric: _meeting(_gains(inputs, paper, listed, over, metric), number)
                for metric, number in numbers.items()
            }
            meetable = [rows for rows in met.values() if rows]
            compared += 1
            if meetable and not set.intersection(*meetable):
                text = ", ".join(f"{metric} of {' or '.join(sorted(rows))}" for metric, rows in met.items() if rows)
                mixed.append(f"over {over} ({listed.table}): {text}")
    return CheckResult("; ".join(mixed) or "each list is of one row", compared, compared - len(mixed))


def _gains(inputs: AuditInput, paper: str, listed: GainList, over: str, metric: str) -> dict[str, Decimal]:
    measure = f"{listed.column}/{metric}"
    base = inputs.value(paper, listed.table, over, measure)
    return {row: inputs.value(paper, listed.table, row, measure) - base for row in listed.rows}


def _meeting(values: dict[str, Decimal], number: Decimal) -> set[str]:
    return {row for row, value in values.items() if rounded(value, unit_of(number)) == number}
