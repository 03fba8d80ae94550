"""Judge one of our numbers against the published one: four verdicts, by a fixed rule, each with its reason."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal

from mdnmt.config.base import Frozen
from mdnmt.paper.numbers import half_up, mean, standard_deviation, t_quantile
from mdnmt.paper.spec_parts import Printed

if TYPE_CHECKING:
    from mdnmt.paper.grid import Grid

Verdict = Literal["reproduced", "not reproduced", "inconclusive", "not comparable"]
VERDICTS: tuple[Verdict, ...] = ("reproduced", "not reproduced", "inconclusive", "not comparable")
NOT_MADE, NOT_AVAILABLE = "not made", "not available"

MIN_SEEDS = 3
# How far a mean may be known to, in points of BLEU, chrF or COMET; of time and memory, as a share of the mean.
WIDEST_POINTS = 1.0
WIDEST_SHARE = 0.1

_NUMBER = re.compile(r"(?P<whole>\d[\d,]*)(?:\.(?P<decimals>\d+))?\s*(?P<unit>[kKM]?)")
_UNITS = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6}
_NOISE = 1e-9  # of sums of floats, relative to what is compared


class Judgement(Frozen):
    """A verdict and why, with the numbers that decided it."""

    verdict: Verdict
    reason: str


def rounding(printed: Printed) -> float:
    """Return half a unit of the last printed digit: 0.005 of "26.09", 500 of "184K"."""
    found = _NUMBER.search(printed.raw) or _NUMBER.search(f"{printed.value:.15g}")
    if found is None:
        return 0.0
    return _UNITS[found["unit"]] * 10.0 ** -len(found["decimals"] or "") / 2


def judge(
    values: Sequence[float],
    printed: Printed | None,
    differs: str | None,
    *,
    widest: float = WIDEST_POINTS,
    times: str = "seed",
) -> Judgement | None:
    """Return the verdict on a number that was measured once a seed, or None where there is nothing to compare.

    Not comparable: what was measured differs. Inconclusive: fewer than three seeds, or a mean whose 95 % confidence
    interval reaches further than `widest` to either side. Reproduced: the published number, which is rounded, may lie
    in the 95 % prediction interval for one more run, mean +- t sd sqrt(1 + 1/n). Else not reproduced.

    Args:
        values: one a seed.
        printed: the published number; None, or one without a value, cannot be compared with.
        differs: why the two cannot be compared, whatever their values.
        widest: see above, in the unit of the values.
        times: what the values are one of each.
    """
    if printed is None or printed.value is None or not values:
        return None
    if differs:
        return Judgement(verdict="not comparable", reason=differs)
    count = len(values)
    if count < MIN_SEEDS:
        plural = "" if count == 1 else "s"
        return Judgement(verdict="inconclusive", reason=f"{count} {times}{plural}; a verdict needs {MIN_SEEDS}")
    spread = standard_deviation(values) or 0.0
    reach = t_quantile(count - 1) * spread
    width = reach / math.sqrt(count)
    if width > widest:
        reason = f"the mean of {count} {times}s is known to \N{PLUS-MINUS SIGN}{half_up(width, 2)} (95 %)"
        return Judgement(verdict="inconclusive", reason=f"{reason}; a verdict needs {half_up(widest, 2)} or less")
    return _against_prediction(mean(values), reach * math.sqrt(1 + 1 / count), printed, f"{count} {times}s")


def _against_prediction(centre: float, reach: float, printed: Printed, seeds: str) -> Judgement:
    value = printed.value or 0.0
    away, slack = abs(value - centre), _NOISE * max(1.0, abs(centre))
    interval = f"from {half_up(centre - reach, 2)} to {half_up(centre + reach, 2)}"
    where = f"{interval}, where 95 % of single runs are to be expected ({seeds})"
    shown = printed.raw or f"{value:.15g}"
    if away <= reach + slack:
        return Judgement(verdict="reproduced", reason=f"{shown} lies {where}")
    if away <= reach + rounding(printed) + slack:
        return Judgement(verdict="reproduced", reason=f"{shown} is rounded and may lie {where}")
    return Judgement(verdict="not reproduced", reason=f"{shown} does not lie {where}")


def judge_count(value: float | None, printed: Printed | None, differs: str | None) -> Judgement | None:
    """Return the verdict on a number that has no spread: sentences of a split, parameters of a model.

    Reproduced: rounded as the published number is, the two are equal. "184K" stands for 183,500 to 184,499.
    """
    if printed is None or printed.value is None or value is None:
        return None
    if differs:
        return Judgement(verdict="not comparable", reason=differs)
    low, high = printed.value - rounding(printed), printed.value + rounding(printed)
    ours, theirs = f"{value:,.0f}", printed.raw or f"{printed.value:,.0f}"
    if low <= value < high:
        return Judgement(verdict="reproduced", reason=f"{ours} reads {theirs} when it is rounded alike")
    range_ = f"{math.ceil(low):,} to {math.ceil(high) - 1:,}"
    return Judgement(verdict="not reproduced", reason=f"found {ours}; {theirs} stands for {range_}")


def tally(grids: Iterable[Grid]) -> dict[str, int]:
    """Count the published cells of tables by verdict, in the order of `VERDICTS`.

    Two more keys follow: `not made` (published, but we have no number) and `not available` (we have one, but the
    published one cannot be had).
    """
    counts: dict[str, int] = dict.fromkeys((*VERDICTS, NOT_MADE, NOT_AVAILABLE), 0)
    for grid in grids:
        for cell in (cell for row in grid.rows for cell in row.cells):
            if cell.judgement is not None:
                counts[cell.judgement.verdict] += 1
            elif cell.published is not None:
                counts[NOT_MADE] += 1
            elif cell.published_text and cell.mean is not None:
                counts[NOT_AVAILABLE] += 1
    return counts
