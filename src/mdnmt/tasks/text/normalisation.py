"""Normalise text: NFC, plain spaces, no invisible characters; per domain also markup, tokens, punctuation and case."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from mdnmt.config.cleaning import CleaningConfig
from mdnmt.languages import language
from mdnmt.tasks.text.markup import unescape
from mdnmt.tasks.text.reversible import SOUTHEAST_ASIAN
from mdnmt.tasks.text.tokenise import detokenise, normalise_punctuation

# Thai and its neighbours have a space between phrases; four short words in a row were separated by a tokeniser.
SEGMENTED = re.compile(f"(?:(?:^| )[{SOUTHEAST_ASIAN}]{{1,8}}){{4}}(?= |$)")

# Invisible characters without meaning in a sentence: soft hyphen, zero-width space, marks of byte order and of
# direction. The joiners U+200C and U+200D stay, because some scripts need them for spelling.
_INVISIBLE = {0x00AD, 0x200B, 0x200E, 0x200F, 0x2060, 0xFEFF, *range(0x202A, 0x202F), *range(0x2066, 0x206A)}
_CONTROL = {*range(0x20), *range(0x7F, 0xA0)}
_SURROGATES = set(range(0xD800, 0xE000))
# Control characters that `str.split` treats as white space become spaces instead of being removed.
_REMOVED = dict.fromkeys(code for code in _CONTROL | _SURROGATES | _INVISIBLE if not chr(code).isspace())


def normalise(text: str) -> str:
    """Return `text` in NFC, without control and invisible characters, with single spaces and none at the ends."""
    if text.isascii() and text.isprintable():
        return " ".join(text.split())
    return " ".join(unicodedata.normalize("NFC", text.translate(_REMOVED)).split())


def comparison_form(normalised: str) -> str:
    """Return the form in which two normalised sentences are compared: case does not matter."""
    return unicodedata.normalize("NFC", normalised.casefold())


def join_tokens(text: str, lang: str) -> str:
    """Return what a text was before a tokeniser: Moses', the Penn Treebank's, or one that separates words of Thai.

    Moses' own rules know neither `ca n't` nor the marks of other scripts, and leave a space within half of the quotes.
    """
    text = detokenise(re.sub(r"(?<!\S)(?:``|'')(?!\S)", '"', unescape(text)), lang)
    text = re.sub(r"(?<=\w) (?=n't\b)| (?=[،؛؟۔।॥።፣፤፥։])", "", text)
    text = re.sub(r"“ ?([^“”]*?) ”", r"“\1”", text)
    if language(lang).base != "fr":
        text = re.sub(r"« ?([^«»]*?) »", r"«\1»", text)
    if SEGMENTED.search(text):
        text = re.sub(f"(?<=[{SOUTHEAST_ASIAN}]) (?=[{SOUTHEAST_ASIAN}])", "", text)
    return normalise(text)


@dataclass(frozen=True)
class Normaliser:
    """Normalises the lines of a domain: training and held-out text, and text to be translated."""

    lowercase: bool = False
    normalise_punctuation: bool = False
    unescape: bool = False
    detokenise: bool = False

    @classmethod
    def from_config(cls, cleaning: CleaningConfig) -> Normaliser:
        """Return the normaliser that `cleaning` asks for."""
        return cls(cleaning.lowercase, cleaning.normalise_punctuation, cleaning.unescape, cleaning.detokenise)

    def options(self) -> dict[str, bool]:
        """Return its options; the newer ones only if they are set, so that older files stay the same."""
        return {name: value for name, value in vars(self).items() if value or name not in ("unescape", "detokenise")}

    def apply(self, line: str, lang: str) -> str:
        """Return a line, normalised."""
        text = normalise(unescape(line) if self.unescape else line)
        if self.detokenise:
            text = join_tokens(text, lang)
        if self.normalise_punctuation:
            text = normalise(normalise_punctuation(text, lang))
        return normalise(text.lower()) if self.lowercase else text
