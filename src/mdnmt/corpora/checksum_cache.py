"""Checksums of local files, kept in a JSON file so that large files are not read again each time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mdnmt import fsio
from mdnmt.errors import DataError, refuse_special_file
from mdnmt.fingerprint import sha256_file

_Rows = dict[str, list[Any]]

# Rows that `save` has not written yet, by cache file; None while `save` writes at once.
_deferred: dict[Path, _Rows] | None = None


class ChecksumCache:
    """sha256 of files by path, size, inode, and times of modification and change (programs can set the former)."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._known: _Rows = {}
        self._changed = False
        try:
            self._known = dict(fsio.read_json(path)["files"])
        except (OSError, ValueError, TypeError, KeyError):  # missing, damaged, or of an earlier version
            self._known = {}
        self._known |= (_deferred or {}).get(path, {})

    def sha256(self, path: Path) -> str:
        """Return the sha256 of a file, recomputed only if one of those changed.

        Raises:
            DataError: the file cannot be read, or is a pipe or device.
        """
        refuse_special_file(path)
        try:
            found = path.stat()
            key, state = str(path.resolve()), [found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino]
            row = self._known.get(key)
            if row is None or row[:-1] != state:
                row = [*state, sha256_file(path)]
                self._known[key] = row
                self._changed = True
        except OSError as error:
            raise DataError(f"{path}: cannot be read ({error.strerror})") from None
        return str(row[-1])

    def save(self) -> None:
        """Write the cache if it has a new checksum; an unwritable folder is not an error."""
        if not self._changed:
            return
        self._changed = False
        if _deferred is None:
            _write(self.path, self._known)
        else:
            _deferred[self.path] = self._known


def defer_checksums() -> None:
    """Keep new checksums in memory until `write_deferred_checksums` is called."""
    global _deferred
    _deferred = {}


def write_deferred_checksums() -> None:
    """Write the checksums kept in memory; from now on `save` writes at once."""
    global _deferred
    waiting, _deferred = _deferred or {}, None
    for path, known in waiting.items():
        _write(path, known)


def _write(path: Path, known: _Rows) -> None:
    try:
        fsio.write_sealed(path, {"files": known})
    except OSError:
        return  # the checksums are correct without a cache, only slower
