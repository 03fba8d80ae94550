"""Download a file over HTTP, with mirrors, resumption and retries; a file with a wrong size or checksum is never kept.

Sources that give a name instead of addresses (`opus`, `hf`, `git`) turn it into addresses
(`mdnmt.config.corpus_source`); all of them are downloaded here. A pointer of Git LFS is not the file: the next address
is asked, and what it sends must have the pointer's checksum.

The partial download is in `<file>.part`; beside it is what the server said about the whole file. A later call resumes
if the server confirms that the file is unchanged (ETag or date), or if a checksum will be compared.
"""

from __future__ import annotations

import hashlib
import http.client
import os
import re
import socket
import ssl
import sys
import urllib.error
import urllib.request
from collections.abc import Callable
from contextlib import AbstractContextManager, closing
from dataclasses import asdict, dataclass
from pathlib import Path
from time import monotonic, sleep
from typing import IO, Any, TextIO

from tqdm import tqdm

from mdnmt import __version__, fsio
from mdnmt.config.corpus_source import WebFile
from mdnmt.corpora.corpus_spec import FileSpec
from mdnmt.errors import FetchError
from mdnmt.machine import require_space

INTERVAL_S = 10.0


def progress(name: str, begins: int, total: int | None) -> AbstractContextManager[Any]:
    """Return a context whose value has `update(bytes)`.

    Args:
        name: name of the file.
        begins: bytes that an earlier attempt downloaded.
        total: size of the whole file in bytes; None if the server does not say.
    """
    if not sys.stderr.isatty():
        return ProgressLines(name, begins, total, sys.stderr)
    bar: AbstractContextManager[Any] = tqdm(
        desc=name, initial=begins, total=total, unit="B", unit_scale=True, file=sys.stderr
    )
    return bar


class ProgressLines:
    """Print a complete line at most every `INTERVAL_S` seconds."""

    def __init__(
        self,
        name: str,
        begins: int,
        total: int | None,
        out: TextIO,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._name, self._total, self._out, self._clock = name, total, out, clock
        self._bytes = self._last_bytes = begins
        self._last = clock()

    def __enter__(self) -> ProgressLines:
        """Return itself."""
        return self

    def __exit__(self, *error: object) -> None:
        """Do nothing: the caller reports how the download ended."""

    def update(self, count: int) -> None:
        """Count `count` more bytes."""
        self._bytes += count
        now = self._clock()
        if now - self._last < INTERVAL_S:
            return
        rate = (self._bytes - self._last_bytes) / (now - self._last)
        self._last, self._last_bytes = now, self._bytes
        whole = f" of {self._total / 1e6:.1f} MB ({100 * self._bytes / self._total:.0f} %)" if self._total else " MB"
        print(f"{self._name}: {self._bytes / 1e6:.1f}{whole}, {rate / 1e6:.1f} MB/s", file=self._out, flush=True)


TIMEOUT_S = 60.0  # without data before an attempt fails
PAUSES_S = (1.0, 3.0, 9.0, 27.0)  # between attempts without progress
_AGAIN = {408, 425, 429, 500, 502, 503, 504}  # statuses worth another attempt
_BLOCK_BYTES = 1 << 16
# https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md
_POINTER = re.compile(
    rb"version https://git-lfs\.github\.com/spec/v1\n(?:.+\n)*?oid sha256:([0-9a-f]{64})\nsize (\d+)\n"
)
_POINTER_BYTES_MAX = 1024


class _Retry(Exception):
    """This attempt failed, but another may succeed."""


class _NotAvailable(Exception):
    """This address does not have the file."""


class _Pointer(Exception):
    """This address has a pointer of Git LFS in place of the file, which another address has."""

    def __init__(self, file: FileSpec) -> None:
        super().__init__(f"has a pointer of Git LFS to a file of {file.size_bytes} bytes, sha256 {file.sha256}")
        self.file = file


@dataclass(frozen=True)
class _RemoteFile:
    """What the server said about a partially downloaded file."""

    url: str
    size: int | None
    validator: str | None  # for If-Range


def download(source: WebFile, wanted: FileSpec, folder: Path, *, bytes_max: int) -> str:
    """Download the file into `folder` and return the address that it came from.

    Args:
        source: its addresses.
        wanted: what is known of it.
        folder: where the complete and verified file is saved.
        bytes_max: a larger file is refused.

    Raises:
        FetchError: no address has it; the message has the reason of each.
    """
    folder.mkdir(parents=True, exist_ok=True)
    reasons = []
    for url in source.urls:
        try:
            _Transfer(url, source, wanted, folder, bytes_max).run()
        except (_NotAvailable, _Pointer) as error:
            reasons.append(f"{url}: {error}")
            if isinstance(error, _Pointer) and wanted.sha256 is None:
                wanted = error.file
            continue
        return url
    locked = source.sha256 is None and wanted.sha256 is not None
    remedy = "; if its publisher replaced it, remove the corpus from the lock" if locked else ""
    said = f"no address has it: {'; '.join(reasons)}; try again later, or correct the addresses{remedy}"
    raise FetchError(f"{source.file}: {said}")


class _Transfer:
    """The attempts to get the file from one address."""

    def __init__(self, url: str, source: WebFile, wanted: FileSpec, folder: Path, bytes_max: int) -> None:
        self._url, self._source, self._wanted, self._bytes_max = url, source, wanted, bytes_max
        self._path = folder / source.file
        self._part, self._state = folder / f"{source.file}.part", folder / f"{source.file}.part.json"
        self._is_checked = wanted.sha256 is not None or source.md5 is not None

    def run(self) -> None:
        """Download the file; after a failure, try again where the last attempt stopped."""
        farthest, failures = 0, 0
        while True:
            try:
                resumed = self._attempt()
                self._refuse_pointer()
                reason = self._difference()
                if reason is None:
                    break
                self._forget()
                if not resumed:
                    raise _NotAvailable(reason)
                # The two parts may belong to different files: start again from the beginning.
                failures += 1
            except _Retry as error:
                reason, reached = str(error), self._offset()
                failures = failures + 1 if reached <= farthest else 0
                farthest = max(farthest, reached)
            if failures > len(PAUSES_S):
                raise _NotAvailable(f"{reason}, {failures} times")
            sleep(PAUSES_S[max(failures - 1, 0)])
        with self._part.open("rb") as written:
            os.fsync(written.fileno())
        self._part.replace(self._path)
        self._state.unlink(missing_ok=True)

    def _attempt(self) -> bool:
        """Get the file or the rest of it; return whether it was the rest."""
        whole = self._known()
        offset = self._offset() if whole else 0
        with closing(self._ask(offset, whole)) as response:
            begins, size = _extent(response)
            if begins and (begins != offset or whole is None or whole.size not in (None, size)):
                self._forget()
                raise _Retry("the server sent another part than the one requested")
            self._check_size(size, response)
            size = self._wanted.size_bytes if size is None else size
            require_space(self._path, (size or 0) - begins, "the rest of the download" if begins else "the download")
            if not begins:
                self._forget()
                whole = _RemoteFile(self._url, size, _validator(response.headers))
                fsio.write_json(self._state, asdict(whole))
            self._receive(response, begins, size)
        got = self._offset()
        if size is not None and got < size:
            raise _Retry(f"cut off at {got} of {size} bytes")
        return begins > 0

    def _ask(self, offset: int, whole: _RemoteFile | None) -> Any:
        headers = {"User-Agent": f"mdnmt/{__version__}", "Accept-Encoding": "identity"}
        if offset:
            headers["Range"] = f"bytes={offset}-"
            if whole is not None and whole.validator is not None:
                headers["If-Range"] = whole.validator
        request = urllib.request.Request(self._url, headers=headers)
        try:
            return _OPENER.open(request, timeout=TIMEOUT_S)
        except urllib.error.HTTPError as error:
            error.close()
            if error.code == 416:
                self._forget()
                raise _Retry("has no such part of it") from None
            again = _Retry if error.code in _AGAIN else _NotAvailable
            raise again(f"status {error.code} {' '.join(str(error.reason).split())}") from None
        except urllib.error.URLError as error:
            lasts = isinstance(error.reason, ssl.SSLCertVerificationError) or (
                isinstance(error.reason, socket.gaierror) and error.reason.errno == socket.EAI_NONAME
            )
            raise (_NotAvailable if lasts else _Retry)(f"cannot be reached ({error.reason})") from None
        except (OSError, http.client.HTTPException) as error:
            raise _Retry(f"cannot be reached ({str(error) or type(error).__name__})") from None

    def _check_size(self, size: int | None, response: Any) -> None:
        expected = self._wanted.size_bytes
        if size is not None and expected is not None and size != expected:
            raise _NotAvailable(f"has {size} bytes, expected {expected}")
        if size is not None and size > self._bytes_max:
            raise _NotAvailable(f"has {size} bytes, more than the {self._bytes_max} of unpacked_bytes_max")
        if size is None and not response.chunked and expected is None and not self._is_checked:
            raise _NotAvailable("does not report the length of the file, so a partial file could not be recognised")

    def _receive(self, response: Any, begins: int, size: int | None) -> None:
        got, shown = begins, progress(self._source.file, begins, size)
        with self._part.open("ab" if begins else "wb") as part, shown as bar:
            while True:
                try:
                    block = response.read1(_BLOCK_BYTES)
                except (OSError, http.client.HTTPException) as error:
                    raise _Retry(f"cut off after {got} bytes ({str(error) or type(error).__name__})") from None
                if not block:
                    return
                got += len(block)
                if got > self._bytes_max:
                    self._forget()
                    raise _NotAvailable(f"has more than the {self._bytes_max} bytes of unpacked_bytes_max")
                part.write(block)
                bar.update(len(block))

    def _refuse_pointer(self) -> None:
        """Raise `_Pointer` if what came is one."""
        with self._part.open("rb") as part:
            pointer = _POINTER.fullmatch(part.read(_POINTER_BYTES_MAX))
        if pointer is not None:
            self._forget()
            sha256, size = pointer[1].decode(), int(pointer[2])
            raise _Pointer(FileSpec(name=self._source.file, sha256=sha256, size_bytes=size))

    def _difference(self) -> str | None:
        """Return how the file differs from its known size and checksums."""
        if self._source.md5 is not None:
            with self._part.open("rb") as handle:
                digest = hashlib.file_digest(handle, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()
            if digest != self._source.md5:
                return f"has md5 {digest}, expected {self._source.md5}"
        return self._wanted.difference(self._part)

    def _known(self) -> _RemoteFile | None:
        """Return what the server said about the partial download, or None if it cannot be resumed."""
        try:
            whole = _RemoteFile(**fsio.read_json(self._state))
        except (OSError, ValueError, TypeError):
            return None
        if self._offset() == 0 or not (self._is_checked or (whole.url == self._url and whole.validator is not None)):
            return None
        # For another address only the size matters: the checksum shows whether it is the same file.
        return whole if whole.url == self._url else _RemoteFile(self._url, whole.size, None)

    def _offset(self) -> int:
        return self._part.stat().st_size if self._part.exists() else 0

    def _forget(self) -> None:
        self._part.unlink(missing_ok=True)
        self._state.unlink(missing_ok=True)


def _extent(response: Any) -> tuple[int, int | None]:
    """Return where the body begins in the file, and the size of the whole file (None: unknown)."""
    if response.status == 206:
        found = re.fullmatch(r"bytes (\d+)-\d+/(\d+|\*)", response.headers.get("Content-Range", "").strip())
        if found is None:
            raise _NotAvailable("sends a part of the file without saying which")
        return int(found[1]), None if found[2] == "*" else int(found[2])
    length = response.headers.get("Content-Length", "")
    return 0, int(length) if length.isdigit() else None


def _validator(headers: Any) -> str | None:
    tag = headers.get("ETag", "").strip()
    if tag.startswith('"'):  # a weak one (W/"...") does not guarantee equal bytes
        return str(tag)
    date = headers.get("Last-Modified")
    return str(date) if date else None


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follow redirects to http(s) only, and never from https to http."""

    def redirect_request(self, req: Any, fp: IO[bytes], code: int, msg: str, headers: Any, newurl: str) -> Any:
        secure = newurl.startswith("https://")
        if not secure and (req.type == "https" or not newurl.startswith("http://")):
            raise urllib.error.HTTPError(newurl, code, "leads to an unprotected address", headers, fp)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


_OPENER = urllib.request.build_opener(_Redirects)
