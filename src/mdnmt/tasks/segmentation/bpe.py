"""Byte pair encoding (subword-nmt): learn the merges, segment words, and join tokens again."""

from __future__ import annotations

import contextlib
import gc
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from mdnmt.errors import DamagedTask
from mdnmt.tasks.segmentation.sentence_pieces import SentencePieces


def learn(counts: Mapping[str, int], merge_operations: int) -> str:
    """Return the codes (a text, one merge per line) learned from word counts.

    Learning stops early if no pair of pieces occurs twice.
    """
    from subword_nmt import learn_bpe

    # Sorted, so that the result depends on nothing but the counts.
    lines = [f"{word} {count}\n" for word, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))]
    codes = io.StringIO()
    with contextlib.redirect_stderr(io.StringIO()), _quick_search(learn_bpe):
        # subword-nmt reports on stderr when no pair is left, and it needs at least one merge.
        if merge_operations:
            learn_bpe.learn_bpe(lines, codes, merge_operations, is_dict=True)
        else:
            codes.write("#version: 0.2\n")
    return codes.getvalue()


@contextlib.contextmanager
def _quick_search(module: Any) -> Iterator[None]:
    """Speed up subword-nmt's search for the most frequent pair, which takes most of its time.

    Two plain passes replace its `max` with a key function; the codes are the same. It creates many objects but no
    cycles, so garbage collection is switched off meanwhile.
    """
    collecting = gc.isenabled()

    def most(values: Any, key: Any = None) -> Any:
        if not isinstance(values, dict):
            return max(values, key=key)
        highest = max(values.values())
        return max([pair for pair, count in values.items() if count == highest])  # among ties, the last in sorted order

    module.max = most
    gc.disable()
    try:
        yield
    finally:
        del module.max
        if collecting:
            gc.enable()


class Bpe:
    """Segments words; the pieces of each word are cached."""

    def __init__(self, codes: str, name: str = "codes.bpe") -> None:
        """Take the codes as `learn` returns them, and the name of their file.

        Raises:
            DataError: the codes are malformed.
        """
        from subword_nmt.apply_bpe import BPE

        if not codes.startswith("#version: 0.2\n"):
            raise DamagedTask(f"{name}: does not begin with '#version: 0.2'")
        merges = codes.rstrip("\n").split("\n")[1:]
        # subword-nmt exits on a malformed line and on a file without merges, so both cases are handled here.
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


def segment_words(job: tuple[str | bytes, Sequence[str]]) -> list[list[str]]:
    """Return the pieces of each word of (codes or a model of sentencepiece, words): one job of a worker process."""
    codes, words = job
    found = _loaded(codes)
    return [found.pieces(word) for word in words]


@lru_cache(maxsize=2)
def _loaded(codes: str | bytes) -> Bpe | SentencePieces:
    return SentencePieces(codes) if isinstance(codes, bytes) else Bpe(codes)


def learn_job(job: tuple[Mapping[str, int], int]) -> str:
    """Return the codes learned from (counts, number of merges): one job of a worker process."""
    return learn(*job)


MARKER = "@@"  # ends a piece that is not the last of its word (subword-nmt's separator)


def join_pieces(pieces: Sequence[str]) -> str:
    """Return the tokenised text of BPE pieces; a marker at the very end (a truncated hypothesis) is dropped."""
    text = " ".join(pieces)
    return text.replace(f"{MARKER} ", "").removesuffix(MARKER)
