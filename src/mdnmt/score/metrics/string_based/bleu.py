"""Corpus BLEU by sacreBLEU (Papineni et al. 2002; Post 2018)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any


def metric(target_lang: str, references: Sequence[str] | None = None) -> Any:
    """Return sacreBLEU's metric: tokenisation 13a, or zh (by character) for Chinese; `references` are cached."""
    from sacrebleu.metrics.bleu import BLEU

    cached = None if references is None else [list(references)]
    return BLEU(tokenize=tokenization(target_lang), references=cached)


def tokenization(target_lang: str) -> str:
    """Return the name of sacreBLEU's tokenisation for a language (`zh`, `zh-CN`, `zh_TW` are Chinese)."""
    return "zh" if re.split("[-_]", target_lang.lower())[0] == "zh" else "13a"
