"""How often each word stands in the training text of each domain."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from mdnmt.methods.method import WordCounts
from mdnmt.tasks.data import Ragged, TaskData


def count_words(data: TaskData, device: torch.device) -> WordCounts:
    """Return the counts over the whole training text, on `device`; </s> counts as a word."""
    split = data.split("train")

    def counts(side: Ragged, vocab_size: int) -> torch.Tensor:
        label_of_word: NDArray[np.int64] = np.repeat(split.domains.astype(np.int64), side.lengths)
        flat = np.bincount(label_of_word * vocab_size + side.tokens, minlength=len(data.domains) * vocab_size)
        return torch.from_numpy(flat.reshape(len(data.domains), vocab_size)).to(device)

    return WordCounts(counts(split.source, len(data.source_vocab)), counts(split.target, len(data.target_vocab)))
