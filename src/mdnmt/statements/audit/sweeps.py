"""Sweeps: what can be recomputed in any table without a list of what to look for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal

from mdnmt.config.published import Place, Published, PublishedNumber
from mdnmt.statements.audit.cells import cell_name
from mdnmt.statements.audit.printed_numbers import mean, rounded, show, show_signed, unit, value_of

AVERAGE_COLUMNS = {"avg.", "avg", "average", "mean"}
TOTAL_ROWS = {"total", "sum"}


@dataclass(frozen=True)
class CheckedNumber:
    """A printed number beside what it should be.

    Attributes:
        cell: where, as `table | row | column/metric`.
        agrees: whether the printed number is right.
        printed: the number as printed.
        recomputed: what it should be, or what it should be above.
        comment: more about it.
    """

    cell: str
    agrees: bool
    printed: str
    recomputed: str
    comment: str = ""


def _available(published: Published) -> Iterator[tuple[Place, PublishedNumber, Decimal]]:
    for place, number in published.numbers.items():
        value = value_of(number)
        if value is not None:
            yield place, number, value


def _complete(numbers: Iterable[PublishedNumber]) -> list[Decimal]:
    """Return the values; none where one of them is not available."""
    values = [value_of(number) for number in numbers]
    there = [value for value in values if value is not None]
    return there if len(there) == len(values) else []


def averages(published: Published) -> Iterator[CheckedNumber]:
    """Compare each average with the mean of the other columns of its row, in the same metric, rounded half up."""
    for place, number, printed in _available(published):
        table, row, column, metric = place
        if column.lower() not in AVERAGE_COLUMNS:
            continue
        others = _complete(
            found
            for other, found in published.numbers.items()
            if (other[0], other[1], other[3]) == (table, row, metric) and other[2] != column
        )
        if not others:
            continue
        true, step = mean(others), unit(number.raw)
        comment = ""
        if rounded(true, step) != printed and true // step * step == printed:
            comment = "Cut off where it should be rounded" + ("; exactly half way." if true % step * 2 == step else ".")
        yield CheckedNumber(cell_name(place), rounded(true, step) == printed, number.raw, f"{true:.4f}", comment)


def deltas(published: Published) -> Iterator[CheckedNumber]:
    """Compare each column of differences (its name starts with a delta) with its scores minus the first row's."""
    for place, number, printed in _available(published):
        table, row, column, _ = place
        if not column.startswith("Δ"):
            continue
        scores = {
            other[1]: value
            for other, _, value in _available(published)
            if other[0] == table and other[2].lower() == column[1:].lower()
        }
        first = published.rows(table)[0]
        if row not in scores or first not in scores:
            continue
        true = scores[row] - scores[first]
        agrees = rounded(true, unit(number.raw)) == printed
        needed = "" if agrees else f"The printed difference would need a score of {show(scores[first] + printed)}."
        shown = f"{show(scores[row])} - {show(scores[first])} = {show_signed(true)}"
        yield CheckedNumber(cell_name(place), agrees, number.raw, shown, needed)


def stars(published: Published) -> Iterator[CheckedNumber]:
    """Compare each starred score with the first row of its table, the baseline: it should not be lower."""
    for place, number, printed in _available(published):
        table, _, column, metric = place
        first = published.find(table, published.rows(table)[0], column, metric)
        baseline = value_of(first) if first is not None else None
        if number.star and first is not None and baseline is not None:
            yield CheckedNumber(cell_name(place), printed >= baseline, number.raw, f"baseline {first.raw}")


def totals(published: Published) -> Iterator[CheckedNumber]:
    """Compare each row of totals with the sum of the rows of the same part of the table."""
    for place, number, printed in _available(published):
        table, row, column, metric = place
        part, _, name = row.rpartition("/")
        if name.lower() not in TOTAL_ROWS:
            continue
        parts = _complete(
            found
            for other, found in published.numbers.items()
            if (other[0], other[2], other[3]) == (table, column, metric)
            and other[1] != row
            and other[1].rpartition("/")[0] == part
        )
        if not parts:
            continue
        true = sum(parts, Decimal(0))
        yield CheckedNumber(cell_name(place), rounded(true, unit(number.raw)) == printed, number.raw, show(true))


SWEEPS: dict[str, Callable[[Published], Iterator[CheckedNumber]]] = {
    "average": averages,
    "delta": deltas,
    "star": stars,
    "total": totals,
}
