"""Readers: one module per layout, with `REQUIRED` (members that must exist) and `read`, or those of a folder."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from typing import Any, Protocol, cast

from mdnmt.corpora.formats.archive import Archive
from mdnmt.plugin_kinds import READER
from mdnmt.plugins import find_own, load

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


class _OfFolder(Protocol):
    """What a module that reads a user's own folder offers: the two things from which all of its reading follows."""

    def split_files(self, archive: Archive, split: str, languages: Sequence[str], options: Any) -> list[str]:
        """Return the names of the files of a split; empty if it does not exist (for `train`: DataError)."""

    def pairs(
        self, archive: Archive, files: Sequence[str], source_lang: str, target_lang: str, options: Any
    ) -> Iterator[Pair]:
        """Yield the segments of these files; DataError names file and line."""


class FolderReader:
    """A reader of a user's own folder; each method raises DataError as its module does."""

    REQUIRED: tuple[str, ...] = ()  # the options name the files

    def __init__(self, module: _OfFolder) -> None:
        self.split_files, self._pairs = module.split_files, module.pairs

    def read(self, archive: Archive, source_lang: str, target_lang: str, options: Any) -> Iterator[Pair]:
        """Yield the training segments unchanged, including blank ones."""
        files = self.split_files(archive, "train", (source_lang, target_lang), options)
        yield from self._pairs(archive, files, source_lang, target_lang, options)

    def held_out(
        self, archive: Archive, split: str, source_lang: str, target_lang: str, options: Any
    ) -> Iterator[Pair] | None:
        """Return the segments of the folder's own `valid` or `test`; None if it has no file."""
        files = self.split_files(archive, split, (source_lang, target_lang), options)
        return self._pairs(archive, files, source_lang, target_lang, options) if files else None


def reader(name: str) -> Reader:
    """Return the reader called `name`, which the configuration has checked."""
    name = name.replace("-", "_")
    plugin = find_own(READER, name)
    module: Any = load(READER, plugin) if plugin is not None else importlib.import_module(f"{__name__}.{name}")
    return FolderReader(module) if hasattr(module, "split_files") else cast(Reader, module)


def folder_reader(name: str) -> FolderReader | None:
    """Return the reader called `name` if it reads a user's folder, else None."""
    found = reader(name)
    return found if isinstance(found, FolderReader) else None


def read_held_out(
    name: str, archive: Archive, split: str, source_lang: str, target_lang: str, options: Any
) -> Iterator[Pair] | None:
    """Return the corpus' own segments of `valid` or `test`; None if it, or its layout, has none."""
    found = reader(name)
    if not hasattr(found, "held_out"):
        return None
    return cast(SplitReader, found).held_out(archive, split, source_lang, target_lang, options)
