"""Two files of translations side by side, as text or data (`mdnmt compare A B --reference REF`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from mdnmt.config.metrics import METRICS
from mdnmt.numbers.rounding import half_up, p_value, signed
from mdnmt.score.significance.paired_tests import NUM_RESAMPLES, NUM_TRIALS
from mdnmt.score.significance.resampling import SEED
from mdnmt.score.text_files import FileComparison

AGREEMENT_SOURCE = "MT-Thresholds (Kocmi et al. 2024)"


def to_text(found: Sequence[FileComparison]) -> str:
    """Return the comparison as lines for a terminal."""
    lines = []
    for one in found:
        result = one.result
        scores = f"A {half_up(result.baseline_score, 2)}, B {half_up(result.system_score, 2)}"
        interval = f"[{signed(result.low, 2)}, {signed(result.high, 2)}]"
        bootstrap, sacrebleu = p_value(result.p_bootstrap), p_value(result.p_sacrebleu)
        lines += [
            f"{METRICS[one.metric].label}: {scores}, B - A {signed(result.delta, 2)} {interval}",
            f"  paired bootstrap: {bootstrap} (as sacreBLEU computes it: {sacrebleu})",
            f"  approximate randomisation: {p_value(result.p_randomisation)}",
            f"  people: {people(one.agreement, one.no_agreement)}",
            f"  {_signature(one.signature)}",
        ]
    return "\n".join(lines)


def people(share: float | None, why_not: str | None) -> str:
    """Return how often people agree with a difference, or why that is not known."""
    if share is None:
        return f"not known; {why_not}"
    return f"prefer the same system in about {half_up(share, 0)} % of pairs with this difference, {AGREEMENT_SOURCE}"


def to_json(found: Sequence[FileComparison]) -> list[dict[str, Any]]:
    """Return the comparison as plain JSON values."""
    return [{**asdict(one), "signature": _signature(one.signature)} for one in found]


def _signature(signature: str) -> str:
    """Return sacreBLEU's signature of a paired test, with the numbers of draws and the seed."""
    references, rest = signature.split("|", 1)
    return f"{references}|ar:{NUM_TRIALS}|bs:{NUM_RESAMPLES}|seed:{SEED}|{rest}"
