"""Translation edit rate by sacreBLEU (Snover et al. 2006): edits and shifts per word of the reference, in percent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mdnmt.score.metrics.string_based.bleu import tokenization


def metric(target_lang: str, references: Sequence[str] | None = None) -> Any:
    """Return sacreBLEU's metric: lower-cased as in tercom, Chinese by character; 0 is best, and it can exceed 100."""
    from sacrebleu.metrics.ter import TER

    by_character = tokenization(target_lang) == "zh"
    cached = None if references is None else [list(references)]
    return TER(normalized=by_character, asian_support=by_character, references=cached)
