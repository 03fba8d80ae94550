"""Judge one of our numbers against the published one: four verdicts, by a fixed rule, each with its reason.

The rule is calibrated by simulation: benchmarks/verdicts.py, with the results in docs/how-we-judge.md.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

from mdnmt.config.base import Frozen
from mdnmt.config.margin import Margin
from mdnmt.numbers.rounding import half_up, last_digit, mean, standard_deviation
from mdnmt.welch import quantile

Verdict = Literal["reproduced", "not reproduced", "inconclusive", "not comparable", "not tested"]
VERDICTS: tuple[Verdict, ...] = ("reproduced", "not reproduced", "inconclusive", "not comparable", "not tested")
NOT_MADE, NOT_AVAILABLE = "not made", "not available"

MIN_SEEDS = 3
MOST_SEEDS = 1000  # nobody trains more seeds than this

_NOISE = 1e-9  # rounding of float sums, relative to the values compared

_SPLITS = {"test": "test set", "valid": "validation set"}
_TOKENISATIONS = {
    "13a": "13a tokenisation",
    "zh": "tokenised by Chinese characters (zh)",
    "char": "tokenised by characters",
    "ja-mecab": "tokenised into Japanese words (MeCab)",
    "none": "tokenised words",
}


class Printed(Frozen):
    """A published number; no value: it is not available."""

    value: float | None
    raw: str = ""  # as it is printed
    star: bool = False
    note: str = ""


class Judgement(Frozen):
    """A verdict and why, with the numbers that decided it."""

    verdict: Verdict
    reason: str
    only_inside: bool = False  # reproduced only because the difference is inside the margin and not significant


def rounding(printed: Printed) -> float:
    """Return half a unit of the last printed digit: 0.005 for "26.09", 500 for "184K"."""
    step = last_digit(printed.raw) or last_digit(f"{printed.value:.15g}")
    return float(step or 0) / 2


def judge(
    values: Sequence[float],
    printed: Printed | None,
    differs: str | None,
    *,
    margin: float = Margin().points,
    noun: str = "seed",
    basis: str = "",
) -> Judgement | None:
    """Return the verdict on a number that was measured once for each seed, or None where there is nothing to compare.

    The verdict is about the difference between the mean of our seeds and the printed number. The printed number is
    taken as one run with the spread of ours, so the 95 % interval of the difference is +- t s sqrt(1 + 1/n), plus half
    a unit of the last printed digit. Reproduced: the interval lies inside the margin. If the spread of the printed run
    alone is as wide as the margin, more seeds do not help, and it is enough that the difference lies inside the margin
    and is not significant. Not reproduced: the interval lies outside the margin. Inconclusive: neither, fewer
    than three seeds, or seeds that do not differ at all. Not comparable: what was measured differs.

    Args:
        values: one for each seed.
        printed: the published number; None or one without a value: there is nothing to compare.
        differs: why the two cannot be compared, whatever their values.
        margin: differences up to this size do not matter, in the unit of the values.
        noun: what one measured value is called in the reason.
        basis: split and tokenisation on which the verdict is based.
    """
    if printed is None or printed.value is None or not values:
        return None
    if differs:
        return Judgement(verdict="not comparable", reason=differs)
    count = len(values)
    if count < MIN_SEEDS:
        plural = "" if count == 1 else "s"
        return Judgement(verdict="inconclusive", reason=f"{count} {noun}{plural}; a verdict needs {MIN_SEEDS}")
    if not (spread := standard_deviation(values)):
        same = f"all {count} {noun}s have the same value, so how much runs vary is not known"
        return Judgement(verdict="inconclusive", reason=same)
    found = _Difference(
        value=mean(values) - printed.value,
        spread=spread,
        count=count,
        rounding=rounding(printed),
        margin=margin + _NOISE * max(1.0, abs(printed.value)),
    )
    verdict, why, only_inside = _decide(found, noun)
    basis_text = f"; {basis}" if basis else ""
    low, high = (half_up(found.value + side * found.reach(count), 2) for side in (-1, 1))
    interval = f"difference {half_up(found.value, 2)}, 95 % interval {low} to {high} ({count} {noun}s{basis_text})"
    return Judgement(verdict=verdict, reason=f"{interval}: {why}", only_inside=only_inside)


@dataclass(frozen=True)
class _Difference:
    """The difference between our mean and a printed number, with the terms of its interval.

    Attributes:
        value: our mean minus the printed number.
        spread: standard deviation over our seeds.
        count: number of our seeds.
        rounding: half a unit of the last printed digit.
        margin: differences up to this size do not matter.
    """

    value: float
    spread: float
    count: int
    rounding: float
    margin: float

    def reach(self, count: float) -> float:
        """Return half the width of the 95 % interval with this many seeds, assuming the spread of the present ones."""
        return quantile(count - 1) * self.spread * math.sqrt(1 + 1 / count) + self.rounding


def _decide(found: _Difference, noun: str) -> tuple[Verdict, str, bool]:
    """Return the verdict, what decided it, and whether it only says "inside the margin and not significant"."""
    distance, margin, reach = abs(found.value), found.margin, found.reach(found.count)
    bounds = f"\N{PLUS-MINUS SIGN}{half_up(margin, 2)}"
    if distance + reach <= margin:
        return "reproduced", f"the interval lies inside {bounds}", False
    if distance - reach > margin:
        return "not reproduced", f"the interval lies outside {bounds}", False
    if found.reach(math.inf) >= margin >= distance:
        # The interval is then wider than the margin to either side, so it holds 0: the difference is not significant.
        why = f"the difference lies inside {bounds} and is not significant"
        return "reproduced", f"{why}; at this spread of single runs, more {noun}s would not show more", True
    needed = _seeds_needed(found)
    decided_by = f"no number of {noun}s" if needed is None else f"about {needed} {noun}s"
    why = f"the interval reaches across {bounds}; at this mean and spread {decided_by} would decide it"
    return "inconclusive", why, False


def _seeds_needed(found: _Difference) -> int | None:
    """Return how many seeds would decide it if mean and spread stayed the same; None if no number of seeds would."""
    gap = abs(abs(found.value) - found.margin)
    low, high = found.count, MOST_SEEDS
    if found.reach(high) >= gap:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if found.reach(middle) >= gap else (low, middle)
    return high


def judge_count(value: float | None, printed: Printed | None, differs: str | None) -> Judgement | None:
    """Return the verdict on a number that has no spread: sentences of a split, parameters of a model.

    Reproduced: rounded like the published number, ours equals it. "184K" stands for 183,500 to 184,499.
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


def scoring_basis(signatures: Collection[str], split: str) -> str:
    """Return in words which split was scored and how it was tokenised: "test set, tokenised words without smoothing".

    Args:
        signatures: of the metric in all rows of a table, such as "nrefs:1|case:mixed|tok:13a|smooth:exp".
        split: test or valid.
    """
    ways = {_tokenisation(signature) for signature in signatures}
    tokenisation = "scored in different ways" if len(ways) > 1 else next(iter(ways), "")
    return ", ".join(text for text in (_SPLITS.get(split, split), tokenisation) if text)


def _tokenisation(signature: str) -> str:
    """Return how the metric with this signature tokenises text; empty if the signature does not show it."""
    fields = dict(part.split(":", 1) for part in signature.split("|") if ":" in part)
    if "tok" not in fields:
        return "untokenised text" if "nc" in fields or "model" in fields else ""
    text = _TOKENISATIONS.get(fields["tok"], f"tokenisation {fields['tok']}")
    if "words" in fields:
        text += f" by {fields['words']}"
    return text + (" without smoothing" if fields.get("smooth") == "none" else "")
