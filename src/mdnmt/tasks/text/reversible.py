"""Split text into words so that it can be joined again exactly: marks say where the spaces were.

Words are runs of letters, combining marks and digits, with apostrophes between letters and points or commas between
digits, roughly as in Unicode's UAX #29. Every other character is a token of its own. A space between two tokens is the
default and is not written. Where there was none, a token carries a joiner mark:

    l'année (1999).   ->   l'année (￭ 1999 ￭) ￭.

In scripts without spaces between words every character is a token, no space is the default, and a space is a token of
its own. The marks are those of OpenNMT's tokenizer (joiner) and of SentencePiece (space).

This file needs nothing but Python, so that an exported model can bring it along.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

JOINER, SPACE, ESCAPE = "\uffed", "\u2581", "\uffee"
# How these three characters are written if they occur in the text itself.
_ESCAPED = {JOINER: f"{ESCAPE}j", SPACE: f"{ESCAPE}s", ESCAPE: f"{ESCAPE}e"}
_LITERAL = {escaped: character for character, escaped in _ESCAPED.items()}

# Han, kana, Bopomofo, Yi with their punctuation and full-width forms; Thai, Lao, Tibetan, Burmese, Khmer.
_CJK = "\u2e80-\u312f\u3190-\u4dbf\u4e00-\ua4cf\uf900-\ufaff\ufe30-\ufe4f\uff01-\uff9f\U00020000-\U0003ffff"
SOUTHEAST_ASIAN = "\u0e00-\u0fff\u1000-\u109f\ua9e0-\ua9ff\uaa60-\uaa7f\u1780-\u17ff\u19e0-\u19ff"  # and Tibetan
SPACELESS = _CJK + SOUTHEAST_ASIAN
_HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_IS_SPACELESS = re.compile(f"[{SPACELESS}]")
_OPENING = ("Ps", "Pi")
Cut = Callable[[str], Sequence[str]]


@lru_cache(maxsize=1)
def _pattern() -> re.Pattern[str]:
    marks = _ranges(code for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code))[0] == "M")
    follows = f"[{marks}\u200c\u200d]"  # combining marks and the two joiners stay with their character
    picture = f"[\U0001f3fb-\U0001f3ff{marks}\U000e0020-\U000e007f]"  # skin tones, selectors, flags of regions
    letter = f"(?![{SPACELESS}])(?:[^\\W_]|{follows})"
    return re.compile(
        f"(?P<han>[{_HAN}]+{follows}*)"
        f"|[{SPACELESS}](?:{follows}|(?<=[\u1039\u17d2])[{SPACELESS}])*"  # with the letters stacked below
        f"|(?:{letter}|(?<=[^\\W\\d_])['’](?=[^\\W\\d_{SPACELESS}])|(?<=\\d)[.,](?=\\d))+"
        "|[\U0001f1e6-\U0001f1ff]{2}"
        f"|\\.\\.\\.|\\S{picture}*(?:\u200d[^\\s\\w{JOINER}{SPACE}{ESCAPE}]{picture}*)*"
    )


def _ranges(codes: Iterator[int]) -> str:
    """Return the content of a character class."""
    found: list[list[int]] = []
    for code in codes:
        if found and found[-1][1] == code - 1:
            found[-1][1] = code
        else:
            found.append([code, code])
    return "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in found)


def split_words(line: str, cut_han: Cut = list) -> list[str]:
    """Return the tokens of a normalised line.

    Args:
        line: text with single spaces, and none at its ends.
        cut_han: splits a run of Han characters into words; by default into characters.
    """
    tokens: list[str] = []
    for chunk in line.split(" "):
        pieces = _chunk_tokens(chunk, cut_han)
        if tokens and pieces and (_is_spaceless(tokens[-1]) or _is_spaceless(pieces[0])):
            tokens.append(SPACE)
        tokens += pieces
    return tokens


@lru_cache(maxsize=1 << 16)
def _chunk_tokens(chunk: str, cut_han: Cut) -> tuple[str, ...]:
    """Return the tokens of text without spaces."""
    plain: list[str] = []
    for found in _pattern().finditer(chunk):
        plain += cut_han(found[0]) if found.lastgroup == "han" else [found[0]]
    marked = [_ESCAPED.get(token[0], token[0]) + token[1:] for token in plain]
    for index in range(1, len(plain)):
        before, after = plain[index - 1], plain[index]
        if _is_spaceless(before) or _is_spaceless(after):
            continue
        if _is_word(after) or unicodedata.category(before[0]) in _OPENING:
            marked[index - 1] += JOINER
        else:
            marked[index] = JOINER + marked[index]
    return tuple(marked)


def join_words(tokens: Sequence[str]) -> str:
    """Return the text of tokens; a model's output may have marks in places where they mean nothing."""
    parts: list[str] = []
    is_joined = True  # to the token before
    for token in tokens:
        if token == SPACE:
            parts.append(" ")
            is_joined = True
            continue
        body = token.strip(JOINER)
        spaceless = _is_spaceless(body)
        if not (is_joined or spaceless or token.startswith(JOINER)):
            parts.append(" ")
        parts.append(_literal(body))
        is_joined = spaceless or token.endswith(JOINER)
    return " ".join("".join(parts).split())


def without_marks(tokens: Sequence[str]) -> list[str]:
    """Return the words alone, for metrics that count words."""
    bodies = (token.strip(JOINER) for token in tokens if token != SPACE)
    return [_literal(body) for body in bodies if body]


def _literal(body: str) -> str:
    return _LITERAL.get(body[:2], body[:2]) + body[2:]


def _is_spaceless(token: str) -> bool:
    return _IS_SPACELESS.match(token) is not None


def _is_word(token: str) -> bool:
    return token[0].isalnum() or unicodedata.category(token[0])[0] == "M"
