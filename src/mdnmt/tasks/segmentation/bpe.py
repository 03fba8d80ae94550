"""Byte pair encoding (subword-nmt): learn the merges, segment words, and join tokens again."""

from __future__ import annotations

import contextlib
import gc
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from mdnmt.errors import DamagedTask


def learn(counts: Mapping[str, int], merge_operations: int) -> str:
    """Return the codes (a text, one merge a line) learned from words and how often they occur.

    Fewer merges come out when no pair of pieces is left that occurs twice.
    """
    from subword_nmt import learn_bpe

    # Sorted, so that the result depends on nothing but the counts.
    lines = [f"{word} {count}\n" for word, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))]
    codes = io.StringIO()
    with contextlib.redirect_stderr(io.StringIO()), _quick_search(learn_bpe):
        # It says on stderr, for every run, that no pair is left; and it asks for at least one merge.
        if merge_operations:
            learn_bpe.learn_bpe(lines, codes, merge_operations, is_dict=True)
        else:
            codes.write("#version: 0.2\n")
    return codes.getvalue()


@contextlib.contextmanager
def _quick_search(module: Any) -> Iterator[None]:
    """Let subword-nmt find the most frequent pair, which takes it most of its time, by two plain passes.

    It calls `max` with a function that is asked for every pair; the codes are the same. Of the many objects that it
    makes none is in a cycle, so Python need not look for cycles among them meanwhile.
    """
    collecting = gc.isenabled()

    def most(values: Any, key: Any = None) -> Any:
        if not isinstance(values, dict):
            return max(values, key=key)
        highest = max(values.values())
        return max([pair for pair, count in values.items() if count == highest])  # of equal ones the last by name

    module.max = most
    gc.disable()
    try:
        yield
    finally:
        del module.max
        if collecting:
            gc.enable()


class Bpe:
    """Takes words apart; each word is segmented once and remembered."""

    def __init__(self, codes: str, name: str = "codes.bpe") -> None:
        """Take the codes as `learn` returns them, and the name of their file.

        Raises:
            DataError: they are not codes.
        """
        from subword_nmt.apply_bpe import BPE

        if not codes.startswith("#version: 0.2\n"):
            raise DamagedTask(f"{name}: does not begin with '#version: 0.2'")
        merges = codes.rstrip("\n").split("\n")[1:]
        # subword-nmt ends the process at a malformed line, and at a file without any, so both are settled here.
        for number, merge in enumerate(merges, start=2):
            if len(merge.split(" ")) != 2:
                raise DamagedTask(f"{name}:{number}: {merge!r} are not two pieces")
        self._bpe: Any = BPE(io.StringIO(codes), merges=-1 if merges else 0, separator=MARKER)
        self._known: dict[str, list[str]] = {}

    def pieces(self, word: str) -> list[str]:
        """Return the pieces of one word."""
        known = self._known.get(word)
        if known is None:
            known = list(self._bpe.segment_tokens([word]))
            self._known[word] = known
        return known

    def segment(self, words: Iterable[str]) -> list[str]:
        """Return the pieces of a tokenised sentence."""
        return [piece for word in words for piece in self.pieces(word)]


def segment_words(job: tuple[str, Sequence[str]]) -> list[list[str]]:
    """Return the pieces of each word of (codes, words): one job of a worker process."""
    codes, words = job
    found = _loaded(codes)
    return [found.pieces(word) for word in words]


@lru_cache(maxsize=2)
def _loaded(codes: str) -> Bpe:
    return Bpe(codes)


def learn_job(job: tuple[Mapping[str, int], int]) -> str:
    """Return the codes learned from (counts, number of merges): one job of a worker process."""
    return learn(*job)


MARKER = "@@"  # ends a piece that is not the last of its word (subword-nmt's separator)


def join_pieces(pieces: Sequence[str]) -> str:
    """Return the tokenised text of BPE pieces; a marker at the very end, of a cut-off hypothesis, is dropped."""
    text = " ".join(pieces)
    return text.replace(f"{MARKER} ", "").removesuffix(MARKER)
