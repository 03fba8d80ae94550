"""Readers: one module a layout, each with `REQUIRED` (members that must be there) and `read`."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any, Protocol, cast

from mdnmt.corpora.archive import Archive

Pair = tuple[str, str]


class Reader(Protocol):
    """What a module of this package offers."""

    # Members whose absence shows, right after the download, that this is not the archive that was expected.
    REQUIRED: tuple[str, ...]

    def read(self, archive: Archive, source_lang: str, target_lang: str, options: Any) -> Iterator[Pair]:
        """Yield (source, target) segments as they stand in the archive."""


def reader(name: str) -> Reader:
    """Return the reader called `name` (the configuration has already checked that there is one)."""
    return cast(Reader, importlib.import_module(f"{__name__}.{name}"))
