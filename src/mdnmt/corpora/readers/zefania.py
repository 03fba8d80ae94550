"""Read two Bibles in Zefania XML, one package per language, one file per book (the layout of xmlbible-*)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mdnmt.config.corpus_reader import ZefaniaReader
from mdnmt.corpora.formats.archive import Archive
from mdnmt.corpora.formats.lines import place
from mdnmt.corpora.formats.verses import Chapters, join
from mdnmt.corpora.formats.xml_text import Event, events
from mdnmt.errors import DataError


def read(archive: Archive, source_lang: str, target_lang: str, options: ZefaniaReader) -> Iterator[tuple[str, str]]:
    """Yield verses by book, chapter and number; chapters with different verse numbers are left out.

    Raises:
        DataError: a language has no package in the options, or a book is missing or is not laid out as expected.
    """
    yield from join(*(chapters(archive, lang, options.packages) for lang in (source_lang, target_lang)))


def chapters(archive: Archive, lang: str, packages: dict[str, str]) -> Chapters:
    """Return the Bible of a language, from the archive whose name begins as `packages` says.

    Raises:
        DataError: as `read`.
    """
    if lang not in packages:
        raise DataError(f"{archive.label}: the reader's `packages` name none for {lang!r}")
    pattern = re.compile(rf"^{re.escape(packages[lang])}-[^/]*/package/text/[^/]+\.xml$")
    found: Chapters = {}
    for name in archive.names():
        if pattern.match(name):
            _add_book(found, archive, name)
    if not found:
        raise DataError(f"{archive.label}: has no verse in {packages[lang]}-*/package/text/*.xml")
    return found


def _add_book(found: Chapters, archive: Archive, name: str) -> None:
    """Add the verses of one file to `found`, without the notes in them."""
    where = place(archive, name)
    book = chapter = 0
    for event in events(archive.blocks(name), where, "VERS", frozenset({"NOTE"})):
        if event.kind == "text":
            verse = _number(event, "vnumber", where)
            found.setdefault((book, chapter), []).append((verse, event.text))
        elif event.kind == "start" and event.name == "BIBLEBOOK":
            book = _number(event, "bnumber", where)
        elif event.kind == "start" and event.name == "CHAPTER":
            chapter = _number(event, "cnumber", where)


def _number(event: Event, attribute: str, where: str) -> int:
    value = event.attributes.get(attribute, "")
    if not re.fullmatch(r"[0-9]{1,4}", value):
        raise DataError(f"{where}:{event.line}: expected a number, found {attribute}={value!r} in {event.name}")
    return int(value)
