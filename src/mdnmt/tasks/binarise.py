"""Binarise: the sentences of a split as one flat array of numbers with offsets."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mdnmt.fsio import atomic_open
from mdnmt.tasks.vocab import Vocab


def flatten(sentences: Iterable[Sequence[int]]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return all sentences end to end, each closed by </s>, and the n + 1 offsets between them."""
    # Four bytes a number; a list of Python's integers would take nine times as much.
    flat, offsets = array("i"), array("q", [0])
    for sentence in sentences:
        flat.extend(sentence)
        flat.append(Vocab.eos)
        offsets.append(len(flat))
    return np.array(flat, dtype=np.int32), np.array(offsets, dtype=np.int64)


def save_array(path: Path, array: NDArray[Any]) -> None:
    """Write an array as .npy, atomically; arrays of objects are refused."""
    with atomic_open(path, "wb") as handle:
        np.save(handle, array, allow_pickle=False)
