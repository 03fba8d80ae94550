"""Read line-aligned text: `<split>.<lang>`, plain or compressed (.gz, .xz, .zst), UTF-8, one segment per line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mdnmt.config.corpus_reader import FilesReader, PlainReader
from mdnmt.corpora.formats.archive import Archive
from mdnmt.corpora.formats.lines import side_by_side
from mdnmt.corpora.formats.text_names import text_file
from mdnmt.errors import DataError


def split_files(archive: Archive, split: str, languages: Sequence[str], options: PlainReader) -> list[str]:
    """Return the names of the files of a split, one per language; empty if there are none (`train` must exist).

    Raises:
        DataError: some of the languages are missing, or one exists twice.
    """
    there = [lang for lang in languages if text_file(archive, split, lang)]
    return [member(archive, split, lang) for lang in languages] if there or split == "train" else []


def pairs(
    archive: Archive, files: Sequence[str], source_lang: str, target_lang: str, options: PlainReader | FilesReader
) -> Iterator[tuple[str, str]]:
    """Yield the segments of files, two by two, unchanged; DataError as `side_by_side`."""
    for one, other in zip(files[::2], files[1::2], strict=True):
        yield from side_by_side(archive, one, other)


def member(archive: Archive, stem: str, lang: str) -> str:
    """Return the file of a text in a language, plain or packed.

    Raises:
        DataError: there is none, or several.
    """
    name = text_file(archive, stem, lang)
    if name is None:
        raise DataError(f"{archive.label}: has no {stem}.{lang}; put it there, plain or packed (.gz, .xz, .zst)")
    return name
