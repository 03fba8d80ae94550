"""Words with the numbers of their pieces, as arrays: made once, then read by every process that encodes text."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mdnmt.tasks.vocab import Vocab

# The end of a line is a word of the table, the last one, which no text has; its one piece is </s>.
END = "\n"
_TABLES_PER_PROCESS = 2  # of the two sides


@dataclass(frozen=True)
class WordTable:
    """Words in a fixed order; word k has the pieces `ids[offsets[k] : offsets[k + 1]]`."""

    words: list[str]
    ids: NDArray[np.int32]
    offsets: NDArray[np.int64]

    @classmethod
    def of(cls, pieces: Mapping[str, Sequence[str]], vocab: Vocab) -> WordTable:
        """Return the table of words that are taken apart as `pieces` says."""
        words = sorted(pieces)
        numbers = [*(vocab.encode(pieces[word]) for word in words), [Vocab.eos]]
        offsets = np.cumsum([0, *map(len, numbers)], dtype=np.int64)
        ids = np.fromiter((number for row in numbers for number in row), dtype=np.int32, count=int(offsets[-1]))
        return cls([*words, END], ids, offsets)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Return how many pieces each word has."""
        return np.diff(self.offsets)

    def unknown(self) -> NDArray[np.bool_]:
        """Say of each word whether it has a piece that is <unk>."""
        owners = np.repeat(np.arange(len(self.words)), self.lengths)
        found = np.zeros(len(self.words), dtype=np.bool_)
        found[owners[self.ids == Vocab.unk]] = True
        return found

    def among(self, words: Collection[str]) -> NDArray[np.bool_]:
        """Say of each word whether it is one of `words`."""
        return np.array([word in words for word in self.words], dtype=np.bool_)

    def save(self, folder: Path) -> None:
        """Write the table for other processes."""
        folder.mkdir(parents=True)
        (folder / "words").write_bytes("\0".join(self.words).encode())
        np.save(folder / "ids.npy", self.ids, allow_pickle=False)
        np.save(folder / "offsets.npy", self.offsets, allow_pickle=False)


class EncodingTable:
    """A table with what finds a word in it."""

    def __init__(self, folder: Path) -> None:
        words = (folder / "words").read_bytes().decode().split("\0")
        self._index = {word: number for number, word in enumerate(words)}
        self._ids = np.load(folder / "ids.npy", allow_pickle=False)
        self._starts = np.load(folder / "offsets.npy", allow_pickle=False)
        self._lengths = np.diff(self._starts)
        self.end = len(words) - 1

    def words(self, lines: Sequence[str]) -> NDArray[np.int64]:
        """Return the numbers of the words of lines of tokens; each line is closed by `end`."""
        if not lines:
            return np.zeros(0, dtype=np.int64)
        find = self._index.__getitem__
        return np.array([*map(find, f" {END} ".join([*lines, ""]).split(" ")[:-1])], dtype=np.int64)

    def pieces(self, words: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return the numbers of the pieces of words, end to end."""
        lengths = self._lengths[words]
        ends = np.cumsum(lengths)
        total = int(ends[-1]) if len(ends) else 0
        places = np.repeat(self._starts[words] - (ends - lengths), lengths) + np.arange(total)
        return np.asarray(self._ids[places], dtype=np.int32)

    def line_lengths(self, words: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how many pieces each line has, </s> included."""
        ends = np.cumsum(self._lengths[words])[words == self.end]
        return np.diff(ends, prepend=0)


@lru_cache(maxsize=_TABLES_PER_PROCESS)
def encoding_table(folder: Path) -> EncodingTable:
    """Return a saved table, read once by each process."""
    return EncodingTable(folder)
