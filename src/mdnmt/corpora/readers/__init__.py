"""Readers: one module per layout, with `read` for archives, or `split_files` and `pairs` for a user's own folder."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from typing import Any

from mdnmt.corpora.formats.archive import Archive
from mdnmt.errors import DataError
from mdnmt.plugin_kinds import READER
from mdnmt.plugins import find_own, load

Pair = tuple[str, str]
HELD_OUT = ("valid", "test")


class Reader:
    """A reader by its module; each method raises DataError as the module does.

    A module for archives has `read`, may have `held_out`, with the arguments of the methods here, and may list in
    `REQUIRED` the members whose absence shows, right after the download, that this is not the archive that was
    expected (a plug-in always defines it). A module for folders has `split_files` and `pairs(archive, files,
    source_lang, target_lang, options)`, which yields the segments of these files.
    """

    def __init__(self, name: str, module: Any) -> None:
        self.name, self._module = name, module
        self.required: tuple[str, ...] = tuple(getattr(module, "REQUIRED", ()))
        self.reads_folders = hasattr(module, "split_files")

    def split_files(self, archive: Archive, split: str, languages: Sequence[str], options: Any) -> list[str]:
        """Return the names of a folder's files of a split; empty if it does not exist (for `train`: DataError)."""
        if not self.reads_folders:
            raise DataError(f"{archive.label}: the reader {self.name!r} reads archives, not folders")
        files: list[str] = self._module.split_files(archive, split, languages, options)
        return files

    def read(self, archive: Archive, source_lang: str, target_lang: str, options: Any) -> Iterator[Pair]:
        """Yield the training segments, (source, target), unchanged; without those that `held_out` returns."""
        if self.reads_folders:
            files = self.split_files(archive, "train", (source_lang, target_lang), options)
            yield from self._module.pairs(archive, files, source_lang, target_lang, options)
        else:
            yield from self._module.read(archive, source_lang, target_lang, options)

    def held_out(
        self, archive: Archive, split: str, source_lang: str, target_lang: str, options: Any
    ) -> Iterator[Pair] | None:
        """Return the corpus' own segments of `valid` or `test`; None if it, or its layout, has none."""
        found: Iterator[Pair] | None = None
        if self.reads_folders:
            files = self.split_files(archive, split, (source_lang, target_lang), options)
            found = self._module.pairs(archive, files, source_lang, target_lang, options) if files else None
        elif hasattr(self._module, "held_out"):
            found = self._module.held_out(archive, split, source_lang, target_lang, options)
        return found


def reader(name: str) -> Reader:
    """Return the reader called `name`, which the configuration has checked."""
    file = name.replace("-", "_")
    plugin = find_own(READER, file)
    return Reader(name, load(READER, plugin) if plugin is not None else importlib.import_module(f"{__name__}.{file}"))
