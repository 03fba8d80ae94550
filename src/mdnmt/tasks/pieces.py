"""Pieces of words: joined by their marker, with nothing but the standard library."""

from __future__ import annotations

from collections.abc import Sequence

MARKER = "@@"  # ends a piece that its word goes on after (subword-nmt's separator)


def join_pieces(pieces: Sequence[str]) -> str:
    """Return the tokenised text of BPE pieces; a marker at the very end, of a cut-off hypothesis, is dropped."""
    text = " ".join(pieces)
    return text.replace(f"{MARKER} ", "").removesuffix(MARKER)
