"""A user's own folder, seen as an archive of its files, each plain or compressed, whatever its name says."""

from __future__ import annotations

import gzip
import importlib
import lzma
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from mdnmt.corpora.formats.archive import Archive, Budget, Readable, blocks_within, missing
from mdnmt.errors import DataError

# Suffixes of compressed files; "" stands for an uncompressed one.
COMPRESSION_SUFFIXES = ("", ".gz", ".xz", ".zst")
# First bytes of packed files. Names lie: browsers unpack a download and leave `.gz`, and copies lose their suffix.
_MAGIC = {b"\x1f\x8b": ".gz", b"\xfd7zXZ\0": ".xz", b"\x28\xb5\x2f\xfd": ".zst"}
# First bytes of what is called like text, but is not.
_NO_TEXT = {
    b"PK\x03\x04": "a zip archive, or a document of an office program: unpack it, or save it as text",
    b"BZh": "packed by bzip2: unpack it by `bunzip2`",
    b"7z\xbc\xaf": "a 7z archive: unpack it",
    b"%PDF-": "a PDF: save it as text, a segment a line",
    b"version https://git-lfs.": "a pointer of Git LFS: fetch the file itself by `git lfs pull`",
}
_HEAD_BYTES = max(map(len, (*_MAGIC, *_NO_TEXT)))


class Folder(Archive):
    """A user's own folder; each compressed file may unpack to at most the budget's limit.

    `files` limits it to some files, which need not be in it yet.
    """

    def __init__(self, path: Path, unpacked_bytes_max: int, files: Sequence[Path] = ()) -> None:
        self.label, self.path = str(path), path
        self.budget = Budget(unpacked_bytes_max)
        self._files = {file.name: file for file in files}

    def names(self) -> list[str]:
        """Return the names of the files in the folder."""
        if self._files:
            return sorted(self._files)
        return sorted(entry.name for entry in self.path.iterdir() if entry.is_file()) if self.path.is_dir() else []

    def blocks(self, name: str) -> Iterator[bytes]:
        """Yield the bytes of a file in blocks, decompressed if its first bytes are those of a packed file.

        Raises:
            DataError: the file is missing, unreadable, truncated, no text, or unpacks to too much.
        """
        path = self._files.get(name, self.path / name)
        if not path.is_file():
            raise missing(self.label, name)
        try:
            with path.open("rb") as handle:
                head = handle.read(_HEAD_BYTES)
                handle.seek(0)
                if (what := next((_NO_TEXT[magic] for magic in _NO_TEXT if head.startswith(magic)), None)) is not None:
                    raise DataError(f"{path}: is {what}")
                named = ".zst" if path.suffix == ".zst" else ""
                kind = next((_MAGIC[magic] for magic in _MAGIC if head.startswith(magic)), named)
                # An uncompressed file cannot be an archive bomb.
                limit = self.budget.limit if kind else path.stat().st_size
                yield from blocks_within(_unpacked(handle, path, kind), Budget(limit), str(path))
        except (EOFError, zlib.error, lzma.LZMAError, OSError) as error:
            raise DataError(f"{path}: cannot be read ({error}); put a complete file there") from None


def packed_name(archive: Archive, name: str) -> str | None:
    """Return the name of a file in `archive`, plain or compressed; None if it is missing.

    Raises:
        DataError: it exists twice.
    """
    names = set(archive.names())
    found = [name + end for end in COMPRESSION_SUFFIXES if name + end in names]
    if len(found) > 1:
        raise DataError(f"{archive.label}: has {' and '.join(found)}; keep one of them")
    return found[0] if found else None


def split_file(archive: Archive, split: str, languages: Sequence[str], options: Any, *, kind: str) -> list[str]:
    """Return the name of the one file of a split, if there is one: `<split>.<kind>`, or `options.file` for train.

    Raises:
        DataError: there is none for train, or a file exists twice.
    """
    if options.file is not None:
        if split == "train" and options.file not in archive.names():
            raise missing(archive.label, options.file)
        return [options.file] if split == "train" else []
    name = packed_name(archive, f"{split}.{kind}")
    if name is None and split == "train":
        said = f"has no train.{kind}; put it there, plain or packed (.gz, .xz, .zst), or name your file in `file`"
        raise DataError(f"{archive.label}: {said}")
    return [] if name is None else [name]


def _unpacked(handle: IO[bytes], path: Path, kind: str) -> Readable:
    if kind == ".gz":
        return gzip.GzipFile(fileobj=handle)
    if kind == ".xz":
        return lzma.LZMAFile(handle)
    return _Zst(handle, path) if kind == ".zst" else handle


class _Zst:
    """A decompressed .zst file; a truncated file, or data after its end, is an error."""

    # Few bytes, so that one read returns little even from an archive bomb (which grows at most 32,000-fold).
    _STEP_BYTES = 512

    def __init__(self, handle: IO[bytes], path: Path) -> None:
        try:
            self._package: Any = importlib.import_module("zstandard")
        except ImportError:
            raise DataError(f"{path}: needs `pip install zstandard` to be read; or pack it as .gz or .xz") from None
        self._handle, self._rest = handle, b""
        self._frame: Any = None

    def read(self, size: int = -1, /) -> bytes:
        """Return some more bytes, b"" at the end; `size` is ignored."""
        out = b""
        while not out:
            data = self._rest or self._handle.read(self._STEP_BYTES)
            if not data:
                if self._frame is not None:
                    raise EOFError("it ends early")
                break
            if self._frame is None:
                self._frame = self._package.ZstdDecompressor().decompressobj()
            try:
                out, self._rest = self._frame.decompress(data), b""
            except self._package.ZstdError as error:
                raise OSError(str(error)) from None
            if self._frame.eof:  # another frame may follow
                self._rest, self._frame = self._frame.unused_data, None
        return out
