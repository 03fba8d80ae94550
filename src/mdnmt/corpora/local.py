"""A user's own folder: which files belong to a corpus, and their checksums, remembered between dry runs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mdnmt import fsio
from mdnmt.config.corpus_reader import ReaderConfig
from mdnmt.corpora.folder import Folder
from mdnmt.corpora.readers import HELD_OUT, folder_reader
from mdnmt.errors import DataError
from mdnmt.fingerprint import sha256_file

# As the list of a corpus' files takes it (`FileSpec`).
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*")


def local_files(folder: Path, languages: Sequence[str], options: ReaderConfig) -> list[str]:
    """Return the names of a local corpus' files: those of train, and of valid and test where they exist.

    Raises:
        DataError: a file is missing, stands there both plain and packed, or has a name with blanks or signs.
    """
    archive = Folder(folder, unpacked_bytes_max=0)  # only names are looked at
    found = folder_reader(options.name)
    if found is None:
        raise DataError(f"{folder}: the reader {options.name!r} reads archives, no folder")
    names = [name for split in ("train", *HELD_OUT) for name in found.split_files(archive, split, languages, options)]
    for name in names:
        if not _NAME.fullmatch(name):
            raise DataError(f"{folder}: {name!r}: rename the file, with nothing but a-z, A-Z, digits and ._+-")
    return names


def check_text(folder: Path, languages: Sequence[str], options: ReaderConfig, unpacked_bytes_max: int) -> None:
    """Read every segment of a local corpus once, and keep none.

    Raises:
        DataError: something in it is not what it should be; file and line are named.
    """
    archive = Folder(folder, unpacked_bytes_max)
    found = folder_reader(options.name)
    assert found is not None  # `local_files` has seen to that
    for other in languages[1:]:
        for _ in found.read(archive, languages[0], other, options):
            pass
        for split in HELD_OUT:
            for _ in found.held_out(archive, split, languages[0], other, options) or ():
                pass


class HashCache:
    """sha256 of files by path, size and modification time, kept in a small JSON, so that a dry run reads no text."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._known: dict[str, list[Any]] = {}
        self._changed = False
        try:
            known = fsio.read_json(path)
        except (OSError, ValueError):  # not there, or damaged: it is only a cache
            known = {}
        if isinstance(known, dict):
            self._known = {key: row for key, row in known.items() if isinstance(row, list) and len(row) == 3}

    def sha256(self, path: Path) -> str:
        """Return the sha256 of a file, computed anew only when its size or modification time differ.

        Raises:
            DataError: the file cannot be read.
        """
        try:
            found = path.stat()
            key, state = str(path.resolve()), [found.st_size, found.st_mtime_ns]
            row = self._known.get(key)
            if row is None or row[:2] != state:
                row = [*state, sha256_file(path)]
                self._known[key] = row
                self._changed = True
        except OSError as error:
            raise DataError(f"{path}: cannot be read ({error.strerror})") from None
        return str(row[2])

    def save(self) -> None:
        """Write the cache when something in it is new; a folder that cannot be written to is no error."""
        if self._changed:
            try:
                fsio.write_json(self.path, self._known)
            except OSError:  # the checksums are right all the same
                return
            self._changed = False
