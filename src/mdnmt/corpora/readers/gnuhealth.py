"""Read gnuhealth-*: the translations of GNU Health's modules, English with de, fr, zh and more."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mdnmt.config.corpus_reader import GnuhealthReader
from mdnmt.corpora.formats.archive import Archive
from mdnmt.corpora.formats.gettext import PoEntry, read_po
from mdnmt.corpora.formats.lines import lines
from mdnmt.errors import DataError

_FILES = {"zh": "zh_CN"}
_CODE_RANGE = re.compile(r"(?<!\s)\s*+[(\[][A-Z]\d{2}(?:\.\d+)?(?:\s*[-\u2013]\s*[A-Z]\d{2}(?:\.\d+)?)?[)\]]")


def read(archive: Archive, source_lang: str, target_lang: str, options: GnuhealthReader) -> Iterator[tuple[str, str]]:
    """Yield messages and translations; fuzzy, obsolete and untranslated ones are left out, ICD codes stripped.

    Raises:
        DataError: no side is English, there is no catalogue, or one is damaged.
    """
    if "en" not in (source_lang, target_lang):
        raise DataError(f"{archive.label}: read with English on one side, not {source_lang}-{target_lang}")
    other = target_lang if source_lang == "en" else source_lang
    for name in _members(archive, other):
        for entry in read_po(lines(archive, name), f"{archive.label}:{name}"):
            if _usable(entry):
                pair = (_CODE_RANGE.sub("", entry.msgid), _CODE_RANGE.sub("", entry.msgstr[0]))
                yield pair if source_lang == "en" else (pair[1], pair[0])


def _usable(entry: PoEntry) -> bool:
    text = entry.msgstr.get(0)
    if entry.fuzzy or entry.msgid_plural is not None or not text:
        return False
    # "noyade | local industriel" for "Industrial area": this translation also contains the name of the parent entry.
    return text.count("|") == entry.msgid.count("|")


def _members(archive: Archive, lang: str) -> list[str]:
    pattern = re.compile(rf"(?:^|/)trytond/modules/[^/]+/locale/{_FILES.get(lang, lang)}\.po$")
    found = [name for name in archive.names() if pattern.search(name)]
    if not found:
        raise DataError(f"{archive.label}: has no member trytond/modules/*/locale/{_FILES.get(lang, lang)}.po")
    return found
