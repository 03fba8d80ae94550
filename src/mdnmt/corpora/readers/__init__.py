"""Readers: one module per layout, each with `REQUIRED` (members that must exist) and `read`."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from typing import Any, Protocol, cast

from mdnmt.corpora.formats.archive import Archive

Pair = tuple[str, str]
HELD_OUT = ("valid", "test")


class Reader(Protocol):
    """What a module of this package offers."""

    # Members whose absence shows, right after the download, that this is not the archive that was expected.
    REQUIRED: tuple[str, ...]

    def read(self, archive: Archive, source_lang: str, target_lang: str, options: Any) -> Iterator[Pair]:
        """Yield the (source, target) segments of the archive, without those that `held_out` returns."""


class SplitReader(Reader, Protocol):
    """A reader of a layout that may have its own `valid` and `test`."""

    def held_out(
        self, archive: Archive, split: str, source_lang: str, target_lang: str, options: Any
    ) -> Iterator[Pair] | None:
        """Return the segments of `valid` or `test`; None if the corpus has no such split of its own."""


class FolderReader(SplitReader, Protocol):
    """A reader of a user's own folder."""

    def split_files(self, archive: Archive, split: str, languages: Sequence[str], options: Any) -> list[str]:
        """Return the names of the files of a split; empty if it does not exist (for `train`: DataError)."""


def reader(name: str) -> Reader:
    """Return the reader called `name`, which the configuration has checked."""
    return cast(Reader, importlib.import_module(f"{__name__}.{name.replace('-', '_')}"))


def folder_reader(name: str) -> FolderReader | None:
    """Return the reader called `name` if it reads a user's folder, else None."""
    found = reader(name)
    return cast(FolderReader, found) if hasattr(found, "split_files") else None


def read_held_out(
    name: str, archive: Archive, split: str, source_lang: str, target_lang: str, options: Any
) -> Iterator[Pair] | None:
    """Return the corpus' own segments of `valid` or `test`; None if it, or its layout, has none."""
    found = reader(name)
    if not hasattr(found, "held_out"):
        return None
    return cast(SplitReader, found).held_out(archive, split, source_lang, target_lang, options)
