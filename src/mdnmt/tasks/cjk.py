"""Characters of scripts that are written without blanks: Chinese and Japanese, and their punctuation."""

from __future__ import annotations

import re

# Radicals to Yi (ideographs, kana and CJK punctuation among them; Hangul, which has blanks, is not), compatibility
# forms, full-width forms, and the planes of rarer ideographs.
_SCRIPT = "\u2e80-\u312f\u3190-\ua4cf\uf900-\ufaff\ufe30-\ufe4f\uff01-\uffef\U00020000-\U0003ffff"
# Shared with other scripts, but never beside a blank in Chinese.
_QUOTES = "\u2018\u2019\u201c\u201d\u2026\u2014\u00b7"
_CHARACTER = re.compile(f"([{_SCRIPT}])")
_BLANK = re.compile(f" (?=[{_SCRIPT}{_QUOTES}])|(?<=[{_SCRIPT}{_QUOTES}]) ")


def split_characters(text: str) -> list[str]:
    """Return each CJK character as a token; what stands between them is split at blanks."""
    return _CHARACTER.sub(r" \1 ", text).split()


def close_up(text: str) -> str:
    """Return text without the blanks beside CJK characters and their quotation marks."""
    return _BLANK.sub("", text)
