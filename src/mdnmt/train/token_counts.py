"""Count the occurrences of each token in the training text of each domain."""

from __future__ import annotations

import numpy as np
import torch

from mdnmt.methods.method import TokenCounts
from mdnmt.tasks.task_data import Indices, Ragged, TaskData


def count_tokens(data: TaskData, rows: Indices, device: torch.device) -> TokenCounts:
    """Return the counts [K, V] of both sides over the given training sentences, on `device`; </s> counts as a token."""
    split = data.split("train")
    domains = split.domains[rows].astype(np.int64)

    def counts(side: Ragged, vocab_size: int) -> torch.Tensor:
        label_of_word = np.repeat(domains, side.lengths[rows])
        tokens = np.concatenate([side.tokens[:0], *(side[row] for row in rows.tolist())])
        flat = np.bincount(label_of_word * vocab_size + tokens, minlength=len(data.domains) * vocab_size)
        return torch.from_numpy(flat.reshape(len(data.domains), vocab_size)).to(device)

    return TokenCounts(counts(split.source, len(data.source_vocab)), counts(split.target, len(data.target_vocab)))
