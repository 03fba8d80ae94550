"""Read line-aligned text in files that the options name: `<name>.<lang>`, plain or compressed, one segment per line."""

from __future__ import annotations

from collections.abc import Sequence

from mdnmt.config.corpus_reader import FilesReader
from mdnmt.corpora.formats.archive import Archive
from mdnmt.corpora.readers.plain import members, pairs

__all__ = ["pairs", "split_files"]


def split_files(archive: Archive, split: str, languages: Sequence[str], options: FilesReader) -> list[str]:
    """Return the names of the files of a split: for each name in the options, one file per language.

    Raises:
        DataError: a file is missing, or exists twice.
    """
    return members(archive, getattr(options, split), languages)
