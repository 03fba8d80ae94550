"""Read the Chinese Union Version of bibletk (Big5) beside the English of a Zefania XML package."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mdnmt.config.corpus_reader import BibletkReader
from mdnmt.corpora.formats.archive import Archive
from mdnmt.corpora.formats.archive_members import read_whole, some_members
from mdnmt.corpora.formats.verses import Chapters, join
from mdnmt.corpora.readers import zefania
from mdnmt.errors import DataError

_FILE = "bibletk/hb5.txt"
_VERSE = re.compile(r"^([1-3]?[A-Z][a-z]*) (\d{1,3}):(\d{1,3}) (.*)$")


def read(archive: Archive, source_lang: str, target_lang: str, options: BibletkReader) -> Iterator[tuple[str, str]]:
    """Yield verses by book, chapter and number; the Chinese side in simplified characters, without spaces.

    Raises:
        DataError: the languages are not English and Chinese, or a file is missing or is not laid out as expected.
    """
    if {source_lang, target_lang} != {"en", "zh"}:
        raise DataError(f"{archive.label}: read as Chinese and English, not {source_lang}-{target_lang}")
    english = zefania.chapters(archive, "en", {"en": options.english})
    chinese = _chinese(archive)
    yield from join(english, chinese) if source_lang == "en" else join(chinese, english)


def _chinese(archive: Archive) -> Chapters:
    """Return the verses; books are not numbered, but come in the usual order."""
    from opencc import OpenCC

    shown = f"member {_FILE}; this is not the corpus that was expected"
    name = some_members(archive, rf"(?:^|/){re.escape(_FILE)}$", shown)[0]
    simplified = OpenCC("t2s")
    books: dict[str, int] = {}
    found: Chapters = {}
    for number, raw in enumerate(read_whole(archive, name).split(b"\n"), start=1):
        try:
            line = raw.decode("big5hkscs").strip()
        except UnicodeDecodeError as error:
            raise DataError(f"{archive.label}:{_FILE}:{number}: byte {error.start} is not Big5") from None
        match = _VERSE.match(line)
        if match is None:
            if number == 1 or not line:  # the title
                continue
            raise DataError(f"{archive.label}:{_FILE}:{number}: {line[:20]!r} is not a verse such as 'Gen 1:1 ...'")
        book = books.setdefault(match[1], len(books) + 1)
        text = simplified.convert("".join(match[4].split()))
        found.setdefault((book, int(match[2])), []).append((int(match[3]), text))
    return found
