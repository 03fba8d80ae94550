"""Read Debian's package descriptions and their translations (Translation-<lang>), paragraph by paragraph."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain

from mdnmt.config.corpus_reader import DdtpReader
from mdnmt.corpora.formats.archive import Archive
from mdnmt.corpora.formats.archive_members import some_members
from mdnmt.corpora.formats.lines import lines, place
from mdnmt.errors import DataError

_FIELD = re.compile(r"^([A-Za-z0-9][A-Za-z0-9_-]*):(?: (.*))?$")


def read(archive: Archive, source_lang: str, target_lang: str, options: DdtpReader) -> Iterator[tuple[str, str]]:
    """Yield the paragraphs of the descriptions that have the same number of them in both languages.

    Raises:
        DataError: a language's file is missing, is not UTF-8, or has a line that does not belong in such a file.
    """
    # English has more descriptions, so those of the other language are kept in memory.
    swapped = target_lang == "en"
    first, second = (target_lang, source_lang) if swapped else (source_lang, target_lang)
    kept = dict(_descriptions(archive, second))
    for key, text in _descriptions(archive, first):
        other = kept.get(key)
        if other is None:
            continue
        paragraphs, others = text.split("\n"), other.split("\n")
        if len(paragraphs) == len(others):
            for pair in zip(paragraphs, others, strict=True):
                yield (pair[1], pair[0]) if swapped else pair


def _descriptions(archive: Archive, lang: str) -> Iterator[tuple[str, str]]:
    """Yield the checksum of the English text, which is the key, and the description, one paragraph per line."""
    name = some_members(archive, rf"(?:^|[/_])Translation-{re.escape(lang)}$", f"file Translation-{lang}")[0]
    key, paragraphs, inside = "", [""], False
    for number, raw in enumerate(chain(lines(archive, name), [""]), start=1):  # an empty line ends an entry
        line = raw.rstrip()
        if not line:
            if key and paragraphs[0]:
                yield key, "\n".join(paragraphs)
            key, paragraphs, inside = "", [""], False
        elif line[0] in " \t":
            if not inside:
                continue
            if line.strip() == ".":
                paragraphs.append("")
            else:
                paragraphs[-1] = f"{paragraphs[-1]} {line.strip()}".strip()
        else:
            match = _FIELD.match(line)
            if match is None:
                raise DataError(f"{place(archive, name)}:{number}: {line[:40]!r} is not a line of a description file")
            inside = match[1].lower() == f"description-{lang}"
            if match[1].lower() == "description-md5":
                key = match[2] or ""
            elif inside:
                paragraphs = [match[2] or "", ""]  # the short description is a paragraph of its own
