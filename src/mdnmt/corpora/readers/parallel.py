"""Read two line-aligned members of an archive (Europarl of statmt.org, News Commentary of WMT)."""

from __future__ import annotations

from collections.abc import Iterator

from mdnmt.config.corpus_reader import ParallelReader
from mdnmt.corpora.formats.archive import Archive
from mdnmt.corpora.formats.lines import side_by_side
from mdnmt.errors import DataError

REQUIRED: tuple[str, ...] = ()  # the options name the members


def read(archive: Archive, source_lang: str, target_lang: str, options: ParallelReader) -> Iterator[tuple[str, str]]:
    """Yield the lines of both members in step, unchanged, including blank ones.

    Raises:
        DataError: a language has no member, or as `side_by_side`.
    """
    for lang in (source_lang, target_lang):
        if lang not in options.members:
            raise DataError(f"{archive.label}: `members` names none for {lang!r}, only {', '.join(options.members)}")
    yield from side_by_side(archive, options.members[source_lang], options.members[target_lang])
