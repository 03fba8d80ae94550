"""Find what is no plain text: markup, tokenised text, cells of a table, wrongly read bytes, endless lines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from mdnmt.languages import code_of_name, language
from mdnmt.tasks.doctor.encoding import has_letters
from mdnmt.tasks.text.markup import entities, tags
from mdnmt.tasks.text.normalisation import SEGMENTED

# Longer segments are seldom sentences, in any script; and a model takes 1,024 pieces unless it is told otherwise.
CHARACTERS_MAX = 2000
PIECES_MAX = 1024

_CJK = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
# French has blanks before `;:!?»`, and Hindi often before its danda, so only a blank before some marks counts. Thai and
# its neighbours have one between phrases, not between four words in a row.
_TOKENISED = re.compile(
    rf"@-@|(?<=[^\s.,]) [.,](?=\s|$)| [،؛؟።፤]|{SEGMENTED.pattern}"
    r"|\w (?:'s|n't|'re|'ll|'ve)(?= )|(?:^| )(?:[cdjlmnst]|qu)['’] (?=\w)"
    rf"|[{_CJK}] [{_CJK}]+ [{_CJK}]| [。，、？！]",
    re.IGNORECASE,
)
_TWO_SCRIPTS = re.compile(
    r"[A-Za-z\u00c0-\u024f]{2}[\u0400-\u04ff\u3040-\u9fff\uac00-\ud7af]"
    r"|[\u0400-\u04ff\u3040-\u9fff\uac00-\ud7af][A-Za-z\u00c0-\u024f]{2}"
)
# What is left of letters beyond ASCII where a program did not know them.
_ESCAPES = re.compile(r"\\u[0-9a-fA-F]{4}|\\x[89a-fA-F][0-9a-fA-F]")
_QUESTIONED = re.compile(r"(?<![^\s(«“\"'’])[^\W\d_]++\?+[a-z\u00df-\u00ff\u0430-\u044f]++(?![^\s.,;:!?)»”\"'’])")
_CELLS = re.compile(r"\S\t\S")
_SWAPPED_CASE = re.compile(r"(?<!\w)[а-яё][А-ЯЁ]{2,}")
# The characters that bytes from 0x80 become in Windows-1252 or Latin-1, and a UTF-8 character read in that way.
_AS_BYTES = {ord(bytes([byte]).decode("cp1252", "ignore") or "\0"): byte for byte in range(0x80, 0xA0)}
_AS_BYTES.pop(0)
_NEXT = "[\u0080-\u00bf" + "".join(map(chr, _AS_BYTES)) + "]"
_MISREAD = re.compile(f"[\u00c2-\u00df]{_NEXT}|[\u00e0-\u00ef]{_NEXT}{{2}}|[\u00f0-\u00f4]{_NEXT}{{3}}")
_HEADERS = "source target src tgt trg text translation original segment"


class Oddity(NamedTuple):
    """What is odd in a line, what to do, and whether a single one is worth a warning."""

    what: str
    remedy: str
    alone: bool = False


_UNESCAPE = "`cleaning: {unescape: true}` decodes entities and removes tags"
_DETOKENISE = "`cleaning: {detokenise: true}` joins it; better, give the text as it was before"
_QUOTES = "set `quotes: true` in the table's `reader`; or write the text without the quotes of a table"
_HEADER = "set `header: true` in the table's `reader`; or remove the line from both sides"
_TABLE = "if it is a table, call the file <name>.tsv; else cut its numbers off: they would be translated"
LONG_HELD_OUT = "remove the line from both sides: held-out text is not cleaned"
LONG = f"remove the line; `cleaning: {{max_characters: {CHARACTERS_MAX}}}` drops such lines from training text"
_ENCODING = "convert the original text again, with the right encoding"


def oddities(side: str, raw: str, text: str, lang: str) -> Iterator[Oddity]:
    """Yield what is odd in a line.

    Args:
        side: source or target.
        raw: the line as it was read.
        text: the line as the task's cleaning normalises it.
        lang: its language.
    """
    if entities(text):
        yield Oddity(f"the {side} has HTML entities, such as &amp;", _UNESCAPE)
    if tags(text):
        yield Oddity(f"the {side} has HTML tags, such as <b>", _UNESCAPE)
    if _TOKENISED.search(text):
        yield Oddity(f"the {side} seems to be tokenised (blanks before full stops, @-@)", _DETOKENISE)
    cell = raw.strip()
    if len(cell) > 1 and cell[0] == cell[-1] == '"' and '""' in cell[1:-1]:
        yield Oddity(f'the {side} is a quoted cell of a table ("" for a quotation mark)', _QUOTES, alone=True)
    if _CELLS.search(raw):
        yield Oddity(f"the {side} has a tab", _TABLE)
    if _ESCAPES.search(text):
        yield Oddity(f"the {side} has escaped characters, such as \\u00e9", "decode them in the file")
    if _QUESTIONED.search(text):
        yield Oddity(f"the {side} has question marks within words, perhaps lost letters", _ENCODING)
    if len(text) > CHARACTERS_MAX:
        yield Oddity(f"the {side} has more than {CHARACTERS_MAX:,} characters", LONG, alone=True)
    elif text.count(" ") >= PIECES_MAX:
        yield Oddity(f"the {side} has more than {PIECES_MAX:,} words", LONG, alone=True)
    if "\ufffd" in raw:
        what = f"the {side} has the replacement character for unreadable bytes (U+FFFD)"
        yield Oddity(what, _ENCODING, alone=True)
    elif not raw.isascii() and is_misread(raw, lang):
        yield Oddity(f"the {side} looks like UTF-8 that was read as Latin-1", _ENCODING, alone=True)
    elif not text.isascii() and (
        (language(lang).scripts[0] == "Latin" and _TWO_SCRIPTS.search(text)) or _SWAPPED_CASE.search(text)
    ):
        yield Oddity(f"the {side} has words with letters that do not belong together", _ENCODING)


def is_header(source: str, target: str, languages: Sequence[str]) -> bool:
    """Say whether a pair is the first row of a table, which names its columns or their languages."""
    names = [text.strip().strip('"').casefold() for text in (source, target)]
    said = [code_of_name(name) == language(lang).base for name, lang in zip(names, languages, strict=True)]
    return all(said) or (names[0] != names[1] and all(name.split("_")[0] in _HEADERS.split() for name in names))


HEADER = Oddity("the first line seems to name the columns of a table", _HEADER, alone=True)


def is_misread(text: str, lang: str) -> bool:
    """Say whether a text has UTF-8 characters whose bytes were each read as a character of Latin-1 or Windows-1252."""
    for found in _MISREAD.finditer(text):
        try:
            decoded = found[0].translate(_AS_BYTES).encode("latin-1").decode()
        except (UnicodeEncodeError, UnicodeDecodeError):
            continue
        if has_letters(decoded, lang) or has_letters(decoded, "fr") or has_letters(decoded, "de"):
            return True
    return False
