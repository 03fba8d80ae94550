"""Corpus chrF2 by sacreBLEU (Popovic 2015): character n-grams up to 6, recall counts twice; no tokenisation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def metric(target_lang: str, references: Sequence[str] | None = None) -> Any:
    """Return sacreBLEU's metric; `references` are cached; no language needs a tokeniser of its own."""
    from sacrebleu.metrics.chrf import CHRF

    return CHRF(references=None if references is None else [list(references)])
