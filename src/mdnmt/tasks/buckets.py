"""Many records of one size, grouped by their first byte: beyond a bound they are kept on disk, a file a group."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mdnmt import fsio

_IN_MEMORY = 1 << 16
_BUCKETS = 256


class Buckets:
    """Records whose first bytes are a digest, so that the groups are about equal.

    Equal records are in one group, in the order in which they came; the groups come in the order of the first byte.
    With a million records a group is four thousand.
    """

    def __init__(self, folder: Path, dtype: np.dtype[Any], in_memory: int = _IN_MEMORY) -> None:
        self._folder, self._dtype, self._limit = folder, dtype, in_memory
        self._waiting: list[NDArray[Any]] = []
        self._count = 0
        self._spilled = False

    def add(self, records: NDArray[Any]) -> None:
        """Take records."""
        self._waiting.append(records)
        self._count += len(records)
        if self._count > self._limit:
            self._spill()

    def __iter__(self) -> Iterator[NDArray[Any]]:
        """Yield the records group by group, all in one where there are few."""
        if not self._spilled:
            yield self._taken()
            return
        self._spill()
        for number in range(_BUCKETS):
            path = self._path(number)
            if path.is_file():
                yield np.fromfile(path, dtype=self._dtype)

    def remove(self) -> None:
        """Forget all records."""
        self._waiting, self._count = [], 0
        if self._spilled:
            fsio.remove_tree(self._folder)
            self._spilled = False

    def _taken(self) -> NDArray[Any]:
        self._waiting = [np.concatenate([np.zeros(0, dtype=self._dtype), *self._waiting])]
        return self._waiting[0]

    def _spill(self) -> None:
        records = self._taken()
        self._waiting, self._count, self._spilled = [], 0, True
        if not len(records):
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        first = records.view(np.uint8).reshape(len(records), -1)[:, 0]
        records = records[np.argsort(first, kind="stable")]
        ends = np.cumsum(np.bincount(first, minlength=_BUCKETS))
        for number, group in enumerate(np.split(records, ends[:-1])):
            if len(group):
                with self._path(number).open("ab") as handle:
                    handle.write(group.tobytes())

    def _path(self, number: int) -> Path:
        return self._folder / f"{number:03d}"
