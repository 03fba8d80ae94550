"""Exact numbers: a printed number, the unit of its last digit, and rounding to that unit."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import ROUND_HALF_UP, Decimal

from mdnmt.config.published import PublishedNumber
from mdnmt.numbers.rounding import last_digit


def exact(value: float) -> Decimal:
    """Return the shortest decimal that represents a float: 22.45, not 22.449999."""
    return Decimal(repr(value))


def unit(raw: str) -> Decimal:
    """Return what one step of the last printed digit is worth: 0.01 for `22.45`, 1000 for `184K`, 1 for `14,942`."""
    return last_digit(raw) or Decimal(1)


def rounded(value: Decimal, to: Decimal) -> Decimal:
    """Return `value` rounded half up (away from zero) to a multiple of the unit `to`."""
    return (value / to).quantize(Decimal(1), ROUND_HALF_UP) * to


def unit_of(number: Decimal) -> Decimal:
    """Return the unit of the last digit of a number in the configuration."""
    return Decimal(1).scaleb(min(0, int(number.as_tuple().exponent)))


def mean(values: Iterable[Decimal]) -> Decimal:
    """Return the mean."""
    listed = list(values)
    return sum(listed, Decimal(0)) / len(listed)


def value_of(number: PublishedNumber) -> Decimal | None:
    """Return the exact value; None where it is not available."""
    return None if number.value is None else exact(number.value)


def show(value: Decimal, digits: int = 4) -> str:
    """Return a number as text with at most that many decimals, without needless zeros."""
    text = f"{rounded(value, Decimal(1).scaleb(-digits)):f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    whole, point, rest = text.partition(".")
    if point and len(rest) == 1:
        rest += "0"  # 26.90: scores have two decimals, as printed
    return f"{int(whole):,}{point}{rest}" if abs(value) >= 10_000 else f"{whole}{point}{rest}"


def show_signed(value: Decimal) -> str:
    """Return a difference as text with its sign."""
    return f"+{show(value)}" if value >= 0 else show(value)


def millions(count: int) -> str:
    """Return a number of parameters as `273.26 M`."""
    return f"{count / 1e6:.2f} M"
