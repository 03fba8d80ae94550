"""Length of translations in percent of the references', in the tokens of sacreBLEU's BLEU (Papineni et al. 2002)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mdnmt.score.metrics.string_based.bleu import tokenization


def metric(target_lang: str, references: Sequence[str]) -> Any:
    """Return sacreBLEU's BLEU with the length ratio as its score; `references` are cached.

    Raises:
        DataError: as `tokenization`.
    """
    from sacrebleu.metrics.bleu import BLEU, BLEUScore

    class LengthRatio(BLEU):
        def _compute_score_from_stats(self, stats: list[int]) -> BLEUScore:
            found = super()._compute_score_from_stats(stats)
            found.score = 100.0 * found.sys_len / found.ref_len if found.ref_len else 0.0
            return found

    return LengthRatio(tokenize=tokenization(target_lang, references), references=[list(references)])
