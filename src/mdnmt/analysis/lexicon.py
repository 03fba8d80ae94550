"""Count words in the training text of each domain; figures compare a model's proportions and gates with the counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from mdnmt.tasks.segmentation.vocabulary import Vocab
from mdnmt.tasks.task_data import Ragged, TaskData


def training_counts(data: TaskData, text: str, words: Sequence[str]) -> dict[str, Any]:
    """Count words in the training text of each domain; BPE tokens are joined into words first.

    Args:
        data: the task.
        text: `source` or `target`.
        words: the words to count.

    Returns:
        {"words": as given, "counts": [words][K], "totals": [K]}; the totals count all words of a domain.
    """
    split = data.split("train")
    side, vocab = (split.source, data.source_vocab) if text == "source" else (split.target, data.target_vocab)
    counts = [_counts(side, vocab, np.flatnonzero(split.domains == label)) for label in range(len(data.domains))]
    return {
        "words": list(words),
        "counts": [[domain[word] for domain in counts] for word in words],
        "totals": [domain.total() for domain in counts],
    }


def _counts(side: Ragged, vocab: Vocab, rows: Any) -> Counter[str]:
    found: Counter[str] = Counter()
    for row in rows:
        found.update(vocab.text(side[int(row)].tolist()).split(" "))
    found.pop("", None)
    return found
