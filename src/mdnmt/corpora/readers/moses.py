"""Read the Moses zips of OPUS, one or several: `ECB.en-fr.en` beside `ECB.en-fr.fr`, a README and a licence."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mdnmt.config.corpus_reader import MosesReader
from mdnmt.corpora.formats.archive import Archive
from mdnmt.corpora.formats.archive_members import one_member, pair_pattern
from mdnmt.corpora.formats.joined_archives import JoinedArchives
from mdnmt.corpora.formats.lines import side_by_side


def read(archive: Archive, source_lang: str, target_lang: str, options: MosesReader) -> Iterator[tuple[str, str]]:
    """Yield the lines of both sides in step, unchanged, including blank ones; one corpus after the other.

    Raises:
        DataError: a side does not have exactly one member of a corpus, or as `side_by_side`.
    """
    pair = pair_pattern(source_lang, target_lang)
    corpora = ["[^/]+"]
    if isinstance(archive, JoinedArchives):  # the zips of several corpora
        found = (re.fullmatch(rf".*/([^/]+)\.{pair}\.{source_lang}", name) for name in archive.names())
        corpora = [re.escape(match[1]) for match in found if match] or corpora
    for corpus in corpora:
        one, other = (
            one_member(archive, rf"{corpus}\.{pair}\.{lang}", f"<corpus>.{source_lang}-{target_lang}.{lang}")
            for lang in (source_lang, target_lang)
        )
        yield from side_by_side(archive, one, other)
