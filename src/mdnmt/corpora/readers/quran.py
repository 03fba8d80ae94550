"""Read translations of the Quran, one package per language (the layout of quran_translation-*), verse by verse."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from mdnmt.config.corpus_reader import QuranReader
from mdnmt.corpora.formats.archive import Archive
from mdnmt.corpora.formats.archive_members import read_whole, some_members
from mdnmt.errors import DataError

_NUMBER = re.compile(r"^\s*(?:\(\d{1,3}\)|\d{1,3}\.)\s*")  # "(2) " and "2. "
_FOOTNOTE = re.compile(r"\[\d{1,4}\]")
_BRACKETS = re.compile(r"[\[\]]")  # around words that the translator supplied

Verse = tuple[int, int]


def read(archive: Archive, source_lang: str, target_lang: str, options: QuranReader) -> Iterator[tuple[str, str]]:
    """Yield the verses that both translations have, without their numbers, footnote marks and square brackets.

    Raises:
        DataError: a language has no package in the options, or a file is missing or is not laid out as expected.
    """
    source, target = (_verses(archive, options.packages.get(lang), lang) for lang in (source_lang, target_lang))
    for verse, text in source.items():
        if verse in target:
            yield text, target[verse]


def _verses(archive: Archive, package: str | None, lang: str) -> dict[Verse, str]:
    if package is None:
        raise DataError(f"{archive.label}: the reader's `packages` name none for {lang!r}")
    pattern = rf"^{re.escape(package)}-[^/]*/package/data\.js$"
    name = some_members(archive, pattern, f"member {package}-*/package/data.js")[0]
    where = name.replace("/", ":", 1)
    rows = _array(read_whole(archive, name), where)
    verses = {}
    for number, row in enumerate(rows, start=1):
        sura, aya, text = (
            row.get(key) if isinstance(row, dict) else None for key in ("sura", "ayaNumber", "translation")
        )
        if not (isinstance(sura, int) and isinstance(aya, int) and isinstance(text, str)):
            raise DataError(f"{where}: entry {number} has no valid sura, ayaNumber and translation")
        verses[sura, aya] = _BRACKETS.sub("", _FOOTNOTE.sub("", _NUMBER.sub("", text)))
    return verses


def _array(data: bytes, where: str) -> list[Any]:
    """Return the array of a script `const translation = [...]`, without running the script."""
    try:
        text = data.decode("utf-8-sig")
        start = text.index("[")
        value, _ = json.JSONDecoder().raw_decode(text, start)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{where}: holds no array of verses ({error})") from None
    return list(value)
