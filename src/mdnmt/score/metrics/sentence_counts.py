"""What sacreBLEU's metrics count in each sentence; scores and significance tests can share the counts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mdnmt.fsio import atomic_open

Counts = npt.NDArray[np.int64]
_folder: ContextVar[Path | None] = ContextVar("folder", default=None)


@contextmanager
def shared(folder: Path) -> Iterator[None]:
    """Keep all counts in a folder, from which every process that names it reads them again."""
    token = _folder.set(folder)
    try:
        yield
    finally:
        _folder.reset(token)


def counted(
    metric: Sequence[str], hypotheses: Sequence[str], references: Sequence[str], count: Callable[[], Any]
) -> Counts:
    """Return the counts of each sentence, [N, C]: from `count`, or as another call with the same text left them.

    Args:
        metric: its name and everything else that changes its counts.
        hypotheses: plain text, one sentence each.
        references: plain text, one sentence each.
        count: counts them.
    """
    folder = _folder.get()
    if folder is None:
        return np.array(count(), dtype=np.int64)
    text = json.dumps([metric, hypotheses, references], ensure_ascii=False)
    path = folder / f"{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}.npy"
    if path.is_file():
        return np.asarray(np.load(path, allow_pickle=False), dtype=np.int64)
    counts = np.array(count(), dtype=np.int64)
    folder.mkdir(parents=True, exist_ok=True)
    with atomic_open(path, "wb") as file:
        np.save(file, counts, allow_pickle=False)
    return counts
