"""Read line-aligned text in files that the options name: `<name>.<lang>`, plain or compressed, one segment per line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mdnmt.config.corpus_reader import FilesReader
from mdnmt.corpora.formats.archive import Archive
from mdnmt.corpora.formats.lines import side_by_side
from mdnmt.corpora.formats.text_names import text_file
from mdnmt.errors import DataError

REQUIRED: tuple[str, ...] = ()  # the options name the files


def read(archive: Archive, source_lang: str, target_lang: str, options: FilesReader) -> Iterator[tuple[str, str]]:
    """Yield the training segments of all files, one file after the other, blank ones included.

    Raises:
        DataError: a file is missing or exists twice, or as `side_by_side`.
    """
    yield from _read_split(archive, "train", source_lang, target_lang, options)


def held_out(
    archive: Archive, split: str, source_lang: str, target_lang: str, options: FilesReader
) -> Iterator[tuple[str, str]] | None:
    """Return the segments of `valid` or `test`; None if the options name no file for it. DataError as `read`."""
    if not getattr(options, split):
        return None
    return _read_split(archive, split, source_lang, target_lang, options)


def split_files(archive: Archive, split: str, languages: Sequence[str], options: FilesReader) -> list[str]:
    """Return the names of the files of a split: for each name in the options, one file per language.

    Raises:
        DataError: a file is missing, or exists twice.
    """
    return [_member(archive, name, lang) for name in getattr(options, split) for lang in languages]


def _read_split(
    archive: Archive, split: str, source_lang: str, target_lang: str, options: FilesReader
) -> Iterator[tuple[str, str]]:
    for name in getattr(options, split):
        yield from side_by_side(archive, _member(archive, name, source_lang), _member(archive, name, target_lang))


def _member(archive: Archive, name: str, lang: str) -> str:
    found = text_file(archive, name, lang)
    if found is None:
        raise DataError(f"{archive.label}: has no {name}.{lang}; put it there, plain or packed (.gz, .xz, .zst)")
    return found
