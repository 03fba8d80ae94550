"""Open archives member by member; hostile names, links and archive bombs are refused.

Nothing is ever extracted to disk: a reader gets a member's bytes, whole or block by block, and every byte counts
against one budget.
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
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Protocol

from mdnmt.corpora.formats.deb import DEB_MAGIC, data_part
from mdnmt.errors import DataError

BLOCK_BYTES = 1 << 18
_DAMAGED = (
    *(zipfile.BadZipFile, tarfile.TarError, EOFError, zlib.error, lzma.LZMAError, OSError, NotImplementedError),
    UnicodeError,  # a zip's names
)

# Functions that decompress an open stream, and that open the compressed stream again.
Unpack = Callable[[IO[bytes]], IO[bytes] | gzip.GzipFile]
Reopen = Callable[[], IO[bytes]]


class Readable(Protocol):
    """An open stream of bytes."""

    def read(self, size: int = -1, /) -> bytes:
        """Return at most that many bytes, b"" at the end."""


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
            DataError: fewer are left.
        """
        self.spent += count
        if self.spent > self.limit:
            raise _too_much(where, self.limit)


class Archive(Protocol):
    """A set of named members, read whole or block by block."""

    label: str
    budget: Budget

    def names(self) -> list[str]:
        """Return the names of all files inside, in the archive's order."""

    def blocks(self, name: str) -> Iterator[bytes]:
        """Yield a member's bytes in blocks; several members may be read in parallel.

        Raises:
            DataError: it is missing, damaged or too large.
        """

    def read(self, name: str) -> bytes:
        """Return a member's bytes; DataError as `blocks`."""
        return b"".join(self.blocks(name))


def check_name(name: str, where: str) -> None:
    """Refuse a member name that could leave the archive's own folder.

    Raises:
        DataError: the name is empty, absolute, has a `..`, a backslash or a control character.
    """
    parts = name.split("/")
    if not name or name.startswith("/") or re.match(r"^[A-Za-z]:", name) or re.search(r"[\\\x00-\x1f\x7f]", name):
        raise DataError(f"{where}: refused, the member {name!r} has an absolute or malformed name")
    if ".." in parts:
        raise DataError(f"{where}: refused, the member {name!r} climbs out of the archive by '..'")


def blocks_within(handle: Readable, budget: Budget, where: str) -> Iterator[bytes]:
    """Read `handle` to its end in blocks; the budget counts the bytes that are read, not the size in a header."""
    while block := handle.read(BLOCK_BYTES):
        budget.spend(len(block), where)
        yield block


class _Zip(Archive):
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

    def blocks(self, name: str) -> Iterator[bytes]:
        if name not in self._members:
            raise missing(self.label, name)
        try:
            with self._zip.open(self._members[name]) as handle:
                yield from blocks_within(handle, self.budget, f"{self.label}:{name}")
        except (*_DAMAGED, RuntimeError) as error:  # RuntimeError: an encrypted member
            raise DataError(f"{self.label}:{name}: damaged or unreadable ({error}); fetch it again") from None


class _Bounded(io.RawIOBase):
    """An unpacked stream that can be neither read nor seeked beyond `limit`."""

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
            raise _too_much(self._label, self._limit)
        return self._inner.seek(offset)

    def read(self, size: int = -1) -> bytes:
        room = self._limit - self._inner.tell()
        data = self._inner.read(room + 1 if size < 0 or size > room else size)
        if len(data) > room:
            raise _too_much(self._label, self._limit)
        return data


class _Tar(Archive):
    def __init__(
        self, handle: IO[bytes], unpack: Unpack, reopen: Reopen, label: str, budget: Budget, *, links: bool = False
    ) -> None:
        self.label, self.budget = label, budget
        self._unpack, self._reopen = unpack, reopen
        self._whole, self._is_read = unpack(handle), False
        self._members: dict[str, tarfile.TarInfo] = {}
        for info in tarfile.open(fileobj=_Bounded(self._whole, budget.left, label), mode="r:"):  # noqa: SIM115
            check_name(info.name, label)
            info.name = info.name.removeprefix("./")
            if links and (info.issym() or info.islnk()):
                continue  # packages contain many links; they are skipped
            if not (info.isfile() or info.isdir()):
                raise DataError(f"{label}: refused, the member {info.name!r} is a link or a device")
            if info.name in self._members:
                raise DataError(f"{label}: refused, two members are called {info.name!r}")
            if info.isfile():
                self._members[info.name] = info

    def names(self) -> list[str]:
        return list(self._members)

    def blocks(self, name: str) -> Iterator[bytes]:
        if name not in self._members:
            raise missing(self.label, name)
        info, where = self._members[name], f"{self.label}:{name}"
        if info.issparse():
            raise DataError(f"{where}: refused, a sparse file; pack it again without holes")
        try:
            with self._stream() as handle:
                left = info.size
                handle.seek(info.offset_data)
                while left:
                    block = handle.read(min(left, BLOCK_BYTES))
                    if not block:
                        raise DataError(f"{where}: damaged, it ends early; fetch it again")
                    left -= len(block)
                    self.budget.spend(len(block), where)
                    yield block
        except _DAMAGED as error:
            raise DataError(f"{where}: damaged or unreadable ({error}); fetch it again") from None

    @contextmanager
    def _stream(self) -> Iterator[IO[bytes] | gzip.GzipFile]:
        """Yield the unpacked archive, opened again if another member is being read: a packed stream goes only forward.

        Members that are read one after the other share a stream, which is then unpacked once.
        """
        if self._is_read:
            with self._reopen() as packed:
                yield self._unpack(packed)
            return
        self._is_read = True
        try:
            yield self._whole
        finally:
            self._is_read = False


def _too_much(where: str, limit: int) -> DataError:
    return DataError(f"{where}: unpacks to more than {limit} bytes; if that is expected, raise unpacked_bytes_max")


def missing(label: str, name: str) -> DataError:
    """Return the error for a missing member."""
    return DataError(f"{label}: has no member {name!r}; this is not the archive that was expected")


@contextmanager
def open_archive(path: Path, unpacked_bytes_max: int) -> Iterator[Archive]:
    """Open a zip (wheel), a Debian package or a tar archive (plain, gz, bz2, xz), recognised by its first bytes.

    Raises:
        DataError: it is none of these, is damaged, or has a refused member.
    """
    try:
        with path.open("rb") as handle:
            yield _open(handle, lambda: path.open("rb"), path.name, Budget(unpacked_bytes_max))
    except FileNotFoundError:
        raise DataError(f"{path}: no such file; fetch the corpus first") from None


def open_nested(outer: Archive, name: str) -> Archive:
    """Open an archive that is a member of another one; both draw on the same budget.

    Raises:
        DataError: as `open_archive`.
    """
    data = outer.read(name)
    return _open(io.BytesIO(data), lambda: io.BytesIO(data), f"{outer.label}:{name}", outer.budget)


def _open(handle: IO[bytes], reopen: Reopen, label: str, budget: Budget) -> Archive:
    magic = handle.read(6)
    handle.seek(0)
    try:
        if magic.startswith(b"PK"):
            return _Zip(handle, label, budget)
        if magic == DEB_MAGIC[:6]:
            part = data_part(handle, label)
            unpack = _unpacker(part(handle).read(6))
            return _Tar(handle, lambda whole: unpack(part(whole)), reopen, label, budget, links=True)
        return _Tar(handle, _unpacker(magic), reopen, label, budget)
    except _DAMAGED as error:
        raise DataError(f"{label}: not a zip, deb or tar archive, or damaged ({error}); fetch it again") from None


def _unpacker(magic: bytes) -> Unpack:
    if magic.startswith(b"\x1f\x8b"):
        return lambda handle: gzip.GzipFile(fileobj=handle)
    if magic.startswith(b"BZh"):
        return bz2.BZ2File
    if magic == b"\xfd7zXZ\0":
        return lzma.LZMAFile
    return lambda handle: handle
