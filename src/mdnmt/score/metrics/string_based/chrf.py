"""Corpus chrF2 by sacreBLEU (Popovic 2015): character n-grams up to 6, beta = 2; no tokenisation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def metric(target_lang: str, references: Sequence[str]) -> Any:
    """Return sacreBLEU's metric, which is the same for all languages; `references` are cached."""
    from sacrebleu.metrics.chrf import CHRF

    return CHRF(references=[list(references)])
