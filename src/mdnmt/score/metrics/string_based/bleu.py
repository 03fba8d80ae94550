"""Corpus BLEU by sacreBLEU (Papineni et al. 2002; Post 2018)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mdnmt.errors import DataError
from mdnmt.languages import language, spaceless_script

_LOOKED_AT = 200  # references whose script is looked at


def metric(target_lang: str, references: Sequence[str]) -> Any:
    """Return sacreBLEU's metric with the tokenisation of the language; `references` are cached.

    Raises:
        DataError: as `tokenization`.
    """
    from sacrebleu.metrics.bleu import BLEU

    return BLEU(tokenize=tokenization(target_lang, references), references=[list(references)])


def tokenization(target_lang: str, references: Sequence[str] = ()) -> str:
    """Return the name of sacreBLEU's tokenisation for a language and text.

    It is 13a, `zh` for Chinese (by character), `ja-mecab` for Japanese (`char` without its packages), and `char` for
    other languages without spaces between words.

    Raises:
        DataError: the references are written without spaces, but the language is not: whole sentences would be words.
    """
    name = language(target_lang).bleu_tokenization
    if name == "13a" and (script := spaceless_script("".join(references[:_LOOKED_AT]))) is not None:
        example = {"Han": "zh", "Japanese": "ja", "Thai": "th", "Lao": "lo", "Khmer": "km", "Burmese": "my"}
        raise DataError(
            f"the references are in {script} script, without spaces, but the language is {target_lang!r}: "
            "tok:13a would take sentences for words; add "
            f"`--target-lang {example.get(script, 'bo')}`"
        )
    return name
