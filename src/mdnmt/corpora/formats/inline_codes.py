"""Remove the inline codes of a segment (TMX, XLIFF), which stand for formatting, so that words stay apart or whole.

A code stands between two words, as in `Click<ph/>here`, or within one, as in `un<b>believ</b>able`.
Whether its removal leaves a blank follows from the code itself, where it says what it is, and from its neighbours.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

# Scripts without blanks between words.
_SPACELESS = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u312f\u3190-\u4dbf\u4e00-\u9fff\uf900-\uffef]")
# They stand for something between words: an image, a variable, a line break; the others open or close a format.
PLACES = frozenset({"ph", "x", "it", "ut"})
# The native code of HTML, RTF or a program, which says what the element stands for.
_BREAKS = re.compile(
    r"\s*(?:</?(?:br|p|div|li|ul|ol|td|tr|th|table|h[1-6]|hr|img)\b|\\(?:n|r|t|line|par|tab)\b|[\n\r\t])", re.I
)
_FORMATS = re.compile(r"\s*</?(?:b|i|u|s|em|strong|span|font|sub|sup|small|big|a|cf|tt|code)\b|\\[biu]\d?\b", re.I)


class Code(NamedTuple):
    """An element within a segment: its name, and the native code that it holds, if any."""

    name: str
    native: str = ""


def without_codes(parts: Sequence[str | Code]) -> str:
    """Return the text of a segment, given as runs of text and the codes between them."""
    text, codes = "", list[Code]()
    for part in parts:
        if isinstance(part, Code):
            codes.append(part)
        elif part:
            text = _joined(text, codes, part)
            codes = []
    return text


def _joined(text: str, codes: Sequence[Code], after: str) -> str:
    if not text or not codes:
        return text + after
    left, right = text[-1], after[0]
    stands_between = any(code.name in PLACES and not _FORMATS.match(code.native) for code in codes)
    if left.isspace() and stands_between and right in ".,;:!?)":
        return text.rstrip() + after
    if left.isspace() or right.isspace():
        return text + after
    if _SPACELESS.match(left) or _SPACELESS.match(right):
        return text + after
    return f"{text} {after}" if _apart(left, right, codes, stands_between) else text + after


def _apart(left: str, right: str, codes: Sequence[Code], stands_between: bool) -> bool:
    """Say whether a blank belongs between two characters that only codes stood between."""
    if any(_BREAKS.match(code.native) for code in codes):
        return True
    if right.isalpha() and (left in ".,;:!?)»”" or (left.islower() and right.isupper())):
        return True  # the end of a sentence, or of a word
    return stands_between and left.isalnum() and right.isalnum()
