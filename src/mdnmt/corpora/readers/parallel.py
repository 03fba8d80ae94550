"""Read line-aligned members of an archive (Europarl of statmt.org, News Commentary of WMT)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from mdnmt.config.corpus_reader import ParallelReader
from mdnmt.corpora.formats.archive import Archive
from mdnmt.corpora.formats.archive_members import one_member
from mdnmt.corpora.formats.lines import side_by_side
from mdnmt.errors import DataError


def read(archive: Archive, source_lang: str, target_lang: str, options: ParallelReader) -> Iterator[tuple[str, str]]:
    """Yield the lines of both members in step, unchanged, including blank ones.

    Raises:
        DataError: a language has no member, or as `side_by_side`.
    """
    yield from _pairs(archive, options.members, (source_lang, target_lang), "members")


def held_out(
    archive: Archive, split: str, source_lang: str, target_lang: str, options: ParallelReader
) -> Iterator[tuple[str, str]] | None:
    """Return the same for `valid` or `test`; None if the options name no members for it."""
    members = options.valid if split == "valid" else options.test
    return _pairs(archive, members, (source_lang, target_lang), split) if members else None


def _pairs(
    archive: Archive, members: Mapping[str, str], languages: tuple[str, str], option: str
) -> Iterator[tuple[str, str]]:
    for lang in languages:
        if lang not in members:
            raise DataError(f"{archive.label}: `{option}` names none for {lang!r}, only {', '.join(members)}")
    one, other = (one_member(archive, re.escape(members[lang]), repr(members[lang])) for lang in languages)
    yield from side_by_side(archive, one, other)
