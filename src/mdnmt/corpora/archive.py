"""Open archives member by member; hostile names, links and bombs are refused before anything is unpacked.

Nothing is ever extracted to disk: a reader gets a member's bytes, and every byte counts against one budget.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import re
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Protocol

from mdnmt.errors import DataError

_DAMAGED = (zipfile.BadZipFile, tarfile.TarError, EOFError, zlib.error, lzma.LZMAError, OSError, NotImplementedError)


class Budget:
    """How many unpacked bytes may still be read."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.spent = 0

    @property
    def left(self) -> int:
        """Return how many bytes may still be read."""
        return self.limit - self.spent

    def spend(self, count: int, where: str) -> None:
        """Take `count` bytes.

        Raises:
            DataError: there are not as many left.
        """
        self.spent += count
        if self.spent > self.limit:
            raise DataError(f"{where}: unpacks to more than {self.limit} bytes; if it may, raise unpacked_bytes_max")


class Archive(Protocol):
    """A set of named members, read whole."""

    label: str
    budget: Budget

    def names(self) -> list[str]:
        """Return the names of all files inside, in the archive's order."""

    def read(self, name: str) -> bytes:
        """Return a member's bytes; DataError when it is missing, damaged or too large."""


def check_name(name: str, where: str) -> None:
    """Refuse a member name that could leave the archive's own folder.

    Raises:
        DataError: the name is empty, absolute, has a `..`, a backslash or a NUL.
    """
    parts = name.split("/")
    if not name or name.startswith("/") or re.match(r"^[A-Za-z]:", name) or "\\" in name or "\0" in name:
        raise DataError(f"{where}: refused, the member {name!r} has an absolute or malformed name")
    if ".." in parts:
        raise DataError(f"{where}: refused, the member {name!r} climbs out of the archive by '..'")


def _take(handle: IO[bytes] | gzip.GzipFile, budget: Budget, where: str) -> bytes:
    """Read `handle` to its end by blocks; the budget is held against what comes out, not against a header."""
    blocks: list[bytes] = []
    while block := handle.read(1 << 20):
        budget.spend(len(block), where)
        blocks.append(block)
    return b"".join(blocks)


class _Zip:
    def __init__(self, handle: IO[bytes], label: str, budget: Budget) -> None:
        self.label, self.budget = label, budget
        self._zip = zipfile.ZipFile(handle)
        self._members: dict[str, zipfile.ZipInfo] = {}
        declared = 0
        for info in self._zip.infolist():
            check_name(info.orig_filename, label)
            if stat.S_ISLNK(info.external_attr >> 16):
                raise DataError(f"{label}: refused, the member {info.filename!r} is a link")
            if info.filename in self._members:
                raise DataError(f"{label}: refused, two members are called {info.filename!r}")
            declared += info.file_size
            if declared > budget.left:
                budget.spend(declared, label)
            if not info.is_dir():
                self._members[info.filename] = info

    def names(self) -> list[str]:
        return list(self._members)

    def read(self, name: str) -> bytes:
        if name not in self._members:
            raise _missing(self.label, name)
        try:
            with self._zip.open(self._members[name]) as handle:
                return _take(handle, self.budget, f"{self.label}:{name}")
        except (*_DAMAGED, RuntimeError) as error:  # RuntimeError: an encrypted member
            raise DataError(f"{self.label}:{name}: damaged or unreadable ({error}); fetch it again") from None


class _Bounded(io.RawIOBase):
    """An unpacked stream in which nobody gets beyond `limit`: neither by reading nor by seeking."""

    def __init__(self, inner: IO[bytes] | gzip.GzipFile, limit: int, label: str) -> None:
        self._inner, self._limit, self._label = inner, limit, label

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._inner.tell()

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        if whence != io.SEEK_SET or offset > self._limit:
            raise self._too_much()
        return self._inner.seek(offset)

    def read(self, size: int = -1) -> bytes:
        room = self._limit - self._inner.tell()
        data = self._inner.read(room + 1 if size < 0 or size > room else size)
        if len(data) > room:
            raise self._too_much()
        return data

    def _too_much(self) -> DataError:
        limit = self._limit
        return DataError(f"{self._label}: unpacks to more than {limit} bytes; if it may, raise unpacked_bytes_max")


class _Tar:
    def __init__(self, handle: IO[bytes] | gzip.GzipFile, label: str, budget: Budget) -> None:
        self.label, self.budget = label, budget
        self._tar = tarfile.open(fileobj=_Bounded(handle, budget.left, label), mode="r:")  # noqa: SIM115
        self._members: dict[str, tarfile.TarInfo] = {}
        for info in self._tar:
            check_name(info.name, label)
            if not (info.isfile() or info.isdir()):
                raise DataError(f"{label}: refused, the member {info.name!r} is a link or a device")
            if info.name in self._members:
                raise DataError(f"{label}: refused, two members are called {info.name!r}")
            if info.isfile():
                self._members[info.name] = info

    def names(self) -> list[str]:
        return list(self._members)

    def read(self, name: str) -> bytes:
        if name not in self._members:
            raise _missing(self.label, name)
        try:
            handle = self._tar.extractfile(self._members[name])
            assert handle is not None  # only regular files are among the members
            return _take(handle, self.budget, f"{self.label}:{name}")
        except _DAMAGED as error:
            raise DataError(f"{self.label}:{name}: damaged or unreadable ({error}); fetch it again") from None


class Folder:
    """A user's own folder, seen as an archive; each packed file may unpack to as much as the budget's limit."""

    def __init__(self, path: Path, unpacked_bytes_max: int) -> None:
        self.label, self.path = str(path), path
        self.budget = Budget(unpacked_bytes_max)

    def names(self) -> list[str]:
        """Return the names of the files in the folder."""
        return sorted(entry.name for entry in self.path.iterdir() if entry.is_file()) if self.path.is_dir() else []

    def read(self, name: str) -> bytes:
        """Return the bytes of a file, unpacked when its name ends in .gz.

        Raises:
            DataError: the file is missing, unreadable, no whole gzip file, or unpacks to too much.
        """
        path = self.path / name
        if not path.is_file():
            raise _missing(self.label, name)
        try:
            if path.suffix != ".gz":
                return path.read_bytes()
            with gzip.open(path) as handle:
                return _take(handle, Budget(self.budget.limit), str(path))
        except (EOFError, zlib.error, OSError) as error:
            raise DataError(f"{path}: cannot be read ({error}); give a whole file") from None


def _missing(label: str, name: str) -> DataError:
    return DataError(f"{label}: has no member {name!r}; this is not the archive that was expected")


@contextmanager
def open_archive(path: Path, unpacked_bytes_max: int) -> Iterator[Archive]:
    """Open a zip (wheel) or tar archive (plain, gz, bz2, xz); the kind is told by its bytes.

    Raises:
        DataError: it is neither, is damaged, or holds a member that is refused.
    """
    try:
        with path.open("rb") as handle:
            yield _open(handle, path.name, Budget(unpacked_bytes_max))
    except FileNotFoundError:
        raise DataError(f"{path}: no such file; fetch the corpus first") from None


def open_nested(outer: Archive, name: str) -> Archive:
    """Open an archive that is a member of another one; both draw on the same budget.

    Raises:
        DataError: as `open_archive`.
    """
    return _open(io.BytesIO(outer.read(name)), f"{outer.label}:{name}", outer.budget)


def _open(handle: IO[bytes], label: str, budget: Budget) -> Archive:
    magic = handle.read(6)
    handle.seek(0)
    try:
        if magic.startswith(b"PK"):
            return _Zip(handle, label, budget)
        if magic.startswith(b"\x1f\x8b"):
            return _Tar(gzip.GzipFile(fileobj=handle), label, budget)
        if magic.startswith(b"BZh"):
            return _Tar(bz2.BZ2File(handle), label, budget)
        if magic == b"\xfd7zXZ\0":
            return _Tar(lzma.LZMAFile(handle), label, budget)
        return _Tar(handle, label, budget)
    except _DAMAGED as error:
        raise DataError(f"{label}: no zip or tar archive, or a damaged one ({error}); fetch it again") from None
