"""Translation edit rate by sacreBLEU (Snover et al. 2006): edits and shifts for a word of the reference, in percent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mdnmt.score.metrics.bleu import tokenization
from mdnmt.score.metrics.score import Score, corpus_score


def metric(target_lang: str, references: Sequence[str] | None = None) -> Any:
    """Return sacreBLEU's metric: as tercom, in lower case, for Chinese by character; `references` are cached."""
    from sacrebleu.metrics.ter import TER

    by_character = tokenization(target_lang) == "zh"
    cached = None if references is None else [list(references)]
    return TER(normalized=by_character, asian_support=by_character, references=cached)


def score(hypotheses: Sequence[str], references: Sequence[str], target_lang: str) -> Score:
    """Return corpus TER of detokenised `hypotheses` against one reference each: 0 is best, above 100 is possible.

    Raises:
        DataError: the counts differ, or there is no sentence.
    """
    return corpus_score(metric(target_lang), hypotheses, references)
