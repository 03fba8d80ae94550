"""Corpus chrF2 by sacreBLEU (Popovic 2015): character n-grams up to 6, recall counts twice; no tokenisation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mdnmt.score.metrics.score import Score, corpus_score


def metric(target_lang: str, references: Sequence[str] | None = None) -> Any:
    """Return sacreBLEU's metric; `references` are cached; no language needs a tokeniser of its own."""
    from sacrebleu.metrics.chrf import CHRF

    return CHRF(references=None if references is None else [list(references)])


def score(hypotheses: Sequence[str], references: Sequence[str], target_lang: str) -> Score:
    """Return corpus chrF2 of detokenised `hypotheses` against one reference each.

    Raises:
        DataError: the counts differ, or there is no sentence.
    """
    return corpus_score(metric(target_lang), hypotheses, references)
