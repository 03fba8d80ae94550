"""Tokenise by the rules of Moses (sacremoses), without escaping to HTML entities."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

_LONE_APOSTROPHE = re.compile(r"(?<=\w) ’ (?=\w)")


@lru_cache(maxsize=16)
def _tokenizer(lang: str) -> Any:
    from sacremoses import MosesTokenizer

    return MosesTokenizer(lang=lang)


@lru_cache(maxsize=16)
def _detokenizer(lang: str) -> Any:
    from sacremoses import MosesDetokenizer

    return MosesDetokenizer(lang=lang)


def tokenise(line: str, lang: str) -> list[str]:
    """Return the tokens of a normalised line.

    Every `@` becomes a token of its own, so no token can end like a piece that its word goes on after (`@@`).
    """
    tokens: list[str] = _tokenizer(lang).tokenize(line, escape=False)
    return tokens


def detokenise(text: str, lang: str) -> str:
    """Return the plain text of tokens that are separated by blanks."""
    plain = str(_detokenizer(lang).detokenize(text.split(" "), unescape=False)).strip()
    # Moses' rules join the typewriter's apostrophe only; the typographic one is left standing alone: l ’ année.
    return _LONE_APOSTROPHE.sub("’", plain)


def tokenise_lines(job: tuple[str, Sequence[str]]) -> list[str]:
    """Return each line of (language, lines) as tokens separated by blanks: one job of a worker process."""
    lang, lines = job
    return [" ".join(tokenise(line, lang)) for line in lines]
