"""Read gnuhealth-*: the translations of GNU Health's modules, English with de, fr, zh and more."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mdnmt.config.corpus_reader import GnuhealthReader
from mdnmt.corpora.formats.archive import Archive
from mdnmt.corpora.formats.archive_members import some_members
from mdnmt.corpora.formats.gettext import Message, read_po
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
    file = f"locale/{_FILES.get(other, other)}.po"
    shown = f"member trytond/modules/*/{file}"
    for name in some_members(archive, rf"(?:^|/)trytond/modules/[^/]+/{re.escape(file)}$", shown):
        for entry in read_po(lines(archive, name), f"{archive.label}:{name}"):
            if _usable(entry):
                pair = (_CODE_RANGE.sub("", entry.msgid), _CODE_RANGE.sub("", entry.msgstr[0]))
                yield pair if source_lang == "en" else (pair[1], pair[0])


def _usable(entry: Message) -> bool:
    text = entry.msgstr[0]
    if entry.fuzzy or entry.msgid_plural is not None or not text:
        return False
    # "noyade | local industriel" for "Industrial area": this translation also contains the name of the parent entry.
    return text.count("|") == entry.msgid.count("|")
