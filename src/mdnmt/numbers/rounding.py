"""Means, standard deviations and rounding: full precision until a number is shown, then half up."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal

_SCALES = {"": 1, "k": 1000, "m": 1_000_000}


def half_up(value: float, places: int) -> str:
    """Return `value` with `places` decimals, a final 5 rounded away from zero (2.675 gives 2.68).

    The shortest decimal that represents the float is rounded. Rounding errors of sums and means beyond the ninth
    decimal are dropped first: the mean of 10.004 and 10.006 is 10.005, though in floats it is 10.004999999999999.
    """
    if not math.isfinite(value):
        raise ValueError(f"{value} cannot be shown as a number")
    step = Decimal(1).scaleb(-places)
    # repr of a numpy float names its type, so make a plain float of it first.
    text = format(Decimal(repr(round(float(value), 9))).quantize(step, rounding=ROUND_HALF_UP), "f")
    return text.lstrip("-") if not text.strip("-0.") else text


def last_digit(raw: str) -> Decimal | None:
    """Return what one step of the last printed digit is worth: 0.01 for `22.45`, 1000 for `184K`.

    None if the text has no digit.
    """
    found = re.search(r"\d[\d,]*(?:\.(\d+))?\s*([kKM]?)", raw)
    return None if found is None else Decimal(_SCALES[found[2].lower()]).scaleb(-len(found[1] or ""))


def thousands(value: float) -> str:
    """Return a whole number with thin spaces between its thousands."""
    return f"{int(half_up(value, 0)):,}".replace(",", "\N{NARROW NO-BREAK SPACE}")


def duration(seconds: float) -> str:
    """Return a time as people say it: `48 s`, `12 min 5 s`, `3 h 20 min`."""
    whole = int(half_up(max(seconds, 0.0), 0))
    hours, rest = divmod(whole, 3600)
    minutes, left = divmod(rest, 60)
    if hours:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    if minutes:
        return f"{minutes} min {left} s" if left else f"{minutes} min"
    return f"{left} s"


def mean(values: Sequence[float]) -> float:
    """Return the mean of at least one value, summed without loss."""
    return math.fsum(values) / len(values)


def standard_deviation(values: Sequence[float]) -> float | None:
    """Return the sample standard deviation (divided by n - 1), or None for fewer than two values."""
    if len(values) < 2:
        return None
    if min(values) == max(values):
        return 0.0  # exactly, without the rounding of the mean
    centre = mean(values)
    return math.sqrt(math.fsum((value - centre) ** 2 for value in values) / (len(values) - 1))


def non_breaking(text: str) -> str:
    """Return `text` with its spaces made non-breaking."""
    return text.replace(" ", "\N{NO-BREAK SPACE}")


def p_value(p: float) -> str:
    """Return a p-value as it is printed, with non-breaking spaces: `p < 0.001` or three decimals."""
    return (
        "p\N{NO-BREAK SPACE}<\N{NO-BREAK SPACE}0.001"
        if p < 0.001
        else f"p\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}{half_up(p, 3)}"
    )


def signed(value: float, places: int) -> str:
    """Return a difference with its sign (a true minus sign; none for zero): `+0.12`, `-1.50`, `0.00`."""
    text = half_up(value, places)
    if not text.strip("-0."):
        return text
    return f"\N{MINUS SIGN}{text[1:]}" if text.startswith("-") else f"+{text}"
