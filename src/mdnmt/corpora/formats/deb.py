"""Find the files of a Debian package: an `ar` archive whose member `data.tar.*` holds them."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import IO, Any, cast

from mdnmt.errors import DataError

DEB_MAGIC = b"!<arch>\n"
_HEADER_BYTES = 60  # name 16, time 12, owner 6, group 6, mode 8, size 10, mark 2
_MARK = b"`\n"


def data_part(handle: IO[bytes], label: str) -> Callable[[IO[bytes]], IO[bytes]]:
    """Return a function that opens the member `data.tar.*`, still compressed, of an open copy of the package.

    Raises:
        DataError: there is no such member, it is compressed with zstd, or the package is damaged.
    """
    end = handle.seek(0, io.SEEK_END)
    start = len(DEB_MAGIC)
    while start < end:
        handle.seek(start)
        header = handle.read(_HEADER_BYTES)
        start += _HEADER_BYTES
        size = header[48:58].strip()
        if len(header) < _HEADER_BYTES or header[58:] != _MARK or not size.isdigit() or start + int(size) > end:
            raise DataError(f"{label}: a damaged Debian package; fetch it again")
        name = header[:16].decode("ascii", "replace").strip().rstrip("/")
        if name == "data.tar.zst":
            raise DataError(f"{label}: its files are packed by zstd; use the package of Debian, which uses xz")
        if name == "data.tar" or name.startswith("data.tar."):
            return lambda whole: cast(IO[bytes], io.BufferedReader(_Part(whole, start, int(size))))
        start += int(size) + int(size) % 2  # members begin at even offsets
    raise DataError(f"{label}: has no data.tar; this is not a Debian package")


class _Part(io.RawIOBase):
    """A part of an open file, seen as a file."""

    def __init__(self, whole: IO[bytes], start: int, size: int) -> None:
        self._whole, self._start, self._size = whole, start, size
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        origin = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        self._position = max(0, origin + offset)
        return self._position

    def readinto(self, buffer: Any) -> int:
        self._whole.seek(self._start + self._position)
        data = self._whole.read(max(0, min(len(buffer), self._size - self._position)))
        buffer[: len(data)] = data
        self._position += len(data)
        return len(data)
