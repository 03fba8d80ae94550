"""Read line-aligned text: `<split>.<lang>`, plain or compressed (.gz, .xz, .zst), UTF-8, one segment per line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mdnmt.config.corpus_reader import PlainReader
from mdnmt.corpora.formats.archive import Archive
from mdnmt.corpora.formats.lines import side_by_side
from mdnmt.corpora.formats.text_names import text_file
from mdnmt.errors import DataError

REQUIRED: tuple[str, ...] = ()  # the names depend on the languages: `_member` says what is missing


def read(archive: Archive, source_lang: str, target_lang: str, options: PlainReader) -> Iterator[tuple[str, str]]:
    """Yield the training segments unchanged, including blank ones.

    Raises:
        DataError: a side is missing or exists twice, or as `side_by_side`.
    """
    yield from _read_split(archive, "train", source_lang, target_lang)


def held_out(
    archive: Archive, split: str, source_lang: str, target_lang: str, options: PlainReader
) -> Iterator[tuple[str, str]] | None:
    """Return the segments of the folder's own `valid` or `test`; None if it has no file.

    Raises:
        DataError: as `read`; one side alone is an error too.
    """
    if not split_files(archive, split, (source_lang, target_lang), options):
        return None
    return _read_split(archive, split, source_lang, target_lang)


def split_files(archive: Archive, split: str, languages: Sequence[str], options: PlainReader) -> list[str]:
    """Return the names of the files of a split, one per language; empty if there are none (`train` must exist).

    Raises:
        DataError: some of the languages are missing, or one exists twice.
    """
    there = [lang for lang in languages if text_file(archive, split, lang)]
    return [_member(archive, split, lang) for lang in languages] if there or split == "train" else []


def _read_split(archive: Archive, split: str, source_lang: str, target_lang: str) -> Iterator[tuple[str, str]]:
    one, other = (_member(archive, split, lang) for lang in (source_lang, target_lang))
    yield from side_by_side(archive, one, other)


def _member(archive: Archive, split: str, lang: str) -> str:
    name = text_file(archive, split, lang)
    if name is None:
        said = f"has no {split}.{lang}; put it there, plain or packed (.gz, .xz, .zst)"
        raise DataError(f"{archive.label}: {said}")
    return name
