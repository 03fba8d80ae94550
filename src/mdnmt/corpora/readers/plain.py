"""Read line-aligned text: `<split>.<lang>`, plain or compressed (.gz, .xz, .zst), UTF-8, one segment per line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mdnmt.config.corpus_reader import FilesReader, PlainReader
from mdnmt.corpora.formats.archive import Archive
from mdnmt.corpora.formats.lines import side_by_side
from mdnmt.corpora.formats.text_names import text_file, text_files
from mdnmt.errors import DataError


def split_files(archive: Archive, split: str, languages: Sequence[str], options: PlainReader) -> list[str]:
    """Return the names of the files of a split, one per language; empty if there are none (`train` must exist).

    Raises:
        DataError: some of the languages are missing, or one exists twice.
    """
    there = [lang for lang in languages if text_file(archive, split, lang)]
    return members(archive, [split], languages) if there or split == "train" else []


def pairs(
    archive: Archive, files: Sequence[str], source_lang: str, target_lang: str, options: PlainReader | FilesReader
) -> Iterator[tuple[str, str]]:
    """Yield the segments of files, two by two, unchanged; DataError as `side_by_side`."""
    for one, other in zip(files[::2], files[1::2], strict=True):
        yield from side_by_side(archive, one, other)


def members(archive: Archive, stems: Sequence[str], languages: Sequence[str]) -> list[str]:
    """Return the files of texts, plain or packed: for each text, one per language.

    Raises:
        DataError: one is missing, or exists twice.
    """
    of_languages = {lang: text_files(archive, stems, lang) for lang in languages}
    found = []
    for number, stem in enumerate(stems):
        for lang in languages:
            if (name := of_languages[lang][number]) is None:
                what = f"has no {stem}.{lang}; put it there, plain or packed (.gz, .xz, .zst)"
                raise DataError(f"{archive.label}: {what}")
            found.append(name)
    return found
