"""Statistics of a task: sentences, words, types, pieces and unknown words, by domain, split and side."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mdnmt.tasks.segmentation.token_encoder import Encoder, WordTable


def side_stats(counts: NDArray[np.int64], table: WordTable, seen: NDArray[np.bool_]) -> dict[str, Any]:
    """Return the statistics of a text.

    `tokens` counts running words. `oov_rate` is the share of them with a piece that is <unk>; `unseen_word_rate` the
    share that is not in the training text of this side (of any domain).

    Args:
        counts: how often each word of the table occurs in it.
        table: words and their pieces.
        seen: for each word, whether it is in the training text.
    """
    tokens = int(counts.sum())
    pieces = int(counts @ table.lengths)
    return {
        "tokens": tokens,
        "types": int(np.count_nonzero(counts)),
        "pieces": pieces,
        "pieces_per_token": round(pieces / tokens, 4),
        "oov_rate": round(int(counts[table.unknown()].sum()) / tokens, 6),
        "unseen_word_rate": round(int(counts[~seen].sum()) / tokens, 6),
    }


def split_stats(
    counts: dict[tuple[str, str], NDArray[np.int64]], encoder: Encoder
) -> dict[tuple[str, str], dict[str, Any]]:
    """Return (domain, side) -> the statistics of a split, from the counts of its words."""
    found = {}
    for (domain, side), count in counts.items():
        table = encoder.tables[domain, side]
        found[domain, side] = side_stats(count, table, table.among(encoder.train_words[side]))
    return found
