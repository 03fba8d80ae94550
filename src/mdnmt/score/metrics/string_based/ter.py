"""Translation edit rate by sacreBLEU (Snover et al. 2006): edits and shifts per word of the reference, in percent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mdnmt.languages import language
from mdnmt.score.metrics.string_based.bleu import tokenization


def metric(target_lang: str, references: Sequence[str]) -> Any:
    """Return sacreBLEU's metric: lower-cased as in tercom; 0 is best, and it can exceed 100; `references` are cached.

    Chinese and Japanese are split as sacreBLEU's `asian_support` does; tercom does not split Thai, Khmer, Lao and
    Burmese, so they are split into characters first (`tok:char` in the signature).

    Raises:
        DataError: as `tokenization`.
    """
    from sacrebleu.metrics.ter import TER

    cached = [list(references)]
    by_character = tokenization(target_lang, references) != "13a"
    if not by_character or language(target_lang).base in ("zh", "ja"):
        return TER(normalized=by_character, asian_support=by_character, references=cached)
    return _character_ter(cached)


def _character_ter(references: list[list[str]]) -> Any:
    from sacrebleu.metrics.ter import TER
    from sacrebleu.tokenizers.tokenizer_char import TokenizerChar

    split: Callable[[str], str] = TokenizerChar()  # type: ignore[no-untyped-call]

    class CharacterTER(TER):
        def __init__(self) -> None:
            super().__init__(references=references)
            self.tokenizer_signature = "char"

        def _preprocess_segment(self, sent: str) -> str:
            return super()._preprocess_segment(split(sent))

    return CharacterTER()
