"""The progress of a download: a bar on a terminal, lines in a log or where several downloads share a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, TextIO

from tqdm import tqdm

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
        clock: Callable[[], float] = time.monotonic,
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
