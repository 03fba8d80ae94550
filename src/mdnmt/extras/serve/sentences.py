"""Split text into the sentences that are translated one by one."""

from __future__ import annotations

import re
from dataclasses import dataclass

from mdnmt.errors import DataError

# Final punctuation and closing quotes or brackets, followed by white space and a character that can begin a sentence.
# In Chinese and Japanese, no space follows.
_END = re.compile(r"(?<![.!?…])[.!?…]++[\"'”’»)\]]*+(?=\s++[^\sa-z])|[。！？]+[”’」』）]*")
_ABBREVIATION = re.compile(
    r"(?:^|[\s(])(?:[A-Z]|Mrs?|Ms|Dr|Prof|St|Nos?|vs|cf|Art|MM?|Mme|bzw|Nr|Abs|e\.g|i\.e|z\.B|p)\.$"
)


@dataclass(frozen=True)
class Sentence:
    """A sentence, and the white space between it and the next one."""

    text: str
    after: str


def split_sentences(text: str, max_characters: int) -> list[Sentence]:
    """Return the sentences of a text without its blank lines; a line break always ends one.

    Raises:
        DataError: the text has a NUL or a surrogate, or a sentence has more than `max_characters`.
    """
    if "\0" in text:
        raise DataError("the text contains a NUL character; remove it")
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise DataError("the text is not valid Unicode; remove the characters that cannot be displayed")
    found: list[Sentence] = []
    for line in re.split(r"[\r\n\v\f\x1c-\x1e\x85\u2028\u2029]+", text):
        parts = _parts(line)
        found += [Sentence(part, " " if place < len(parts) else "\n") for place, part in enumerate(parts, 1)]
    for number, sentence in enumerate(found, 1):
        if len(sentence.text) > max_characters:
            raise DataError(
                f"sentence {number} has {len(sentence.text):,} characters, the limit is {max_characters:,}; split it"
            )
    return found


def _parts(line: str) -> list[str]:
    parts, start = [], 0
    for end in _END.finditer(line):
        if not _ABBREVIATION.search(line[start : end.end()][-12:]):
            parts.append(line[start : end.end()].strip())
            start = end.end()
    return [part for part in (*parts, line[start:].strip()) if part]
