"""A user's own folder: which files belong to a corpus, and their checksums, remembered between dry runs."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from mdnmt import fsio
from mdnmt.corpora.archive import Folder
from mdnmt.corpora.readers import plain
from mdnmt.errors import DataError
from mdnmt.fingerprint import sha256_file

SPLITS = ("train", "valid", "test")


def local_files(folder: Path, languages: Iterable[str]) -> list[str]:
    """Return the names of a local corpus' files: every language of train, and of valid and test where they exist.

    Raises:
        DataError: a file is missing, or stands there both plain and packed.
    """
    archive, languages = Folder(folder, unpacked_bytes_max=0), list(languages)  # only names are looked at
    names = []
    for split in SPLITS:
        if split == "train" or any(plain.has_split(archive, split, lang, lang) for lang in languages):
            names += [plain.member(archive, split, lang) for lang in languages]
    return names


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
