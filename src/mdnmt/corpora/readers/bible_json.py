"""Read a Bible in JSON, a list of books with their chapters, verse by verse (the layout of mg-bibles)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mdnmt.config.corpus_reader import BibleJsonReader
from mdnmt.corpora.formats.archive import Archive
from mdnmt.corpora.formats.archive_members import read_json
from mdnmt.corpora.formats.verses import Chapters, join
from mdnmt.errors import DataError


def read(archive: Archive, source_lang: str, target_lang: str, options: BibleJsonReader) -> Iterator[tuple[str, str]]:
    """Yield verses by their position; chapters with different numbers of verses are left out.

    Raises:
        DataError: a language has no member in the options, or a member is missing or is not laid out as expected.
    """
    yield from join(*(_chapters(archive, lang, options) for lang in (source_lang, target_lang)))


def _chapters(archive: Archive, lang: str, options: BibleJsonReader) -> Chapters:
    name = options.members.get(lang)
    if name is None:
        raise DataError(f"{archive.label}: the reader's `members` name no file for {lang!r}")
    where = f"{archive.label}:{name}"
    books = read_json(archive, name)
    if not isinstance(books, list):
        raise DataError(f"{where}: expected a list of books")
    return {
        (book, chapter): [(number, text) for number, text in enumerate(verses, start=1)]
        for book, value in enumerate(books, start=1)
        for chapter, verses in enumerate(_checked(value, f"{where}:book {book}"), start=1)
    }


def _checked(book: Any, where: str) -> list[list[str]]:
    """Return the chapters of a book, each a list of verses."""
    chapters = book.get("chapters") if isinstance(book, dict) else None
    if not isinstance(chapters, list):
        raise DataError(f"{where}: has no list `chapters`")
    for number, verses in enumerate(chapters, start=1):
        if not isinstance(verses, list) or not all(isinstance(verse, str) for verse in verses):
            raise DataError(f"{where}, chapter {number}: expected a list of verses")
    return chapters
