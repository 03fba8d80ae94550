"""A task's plain text as a pretrained model reads it: segmented by the model's own tokenizer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from mdnmt.extras.pretrained.tokenizer import PretrainedTokenizer
from mdnmt.tasks.segmentation.vocabulary import Vocab
from mdnmt.tasks.task_data import Ragged, Split, TaskData
from mdnmt.train.batches import spread


class PretrainedVocab(Vocab):
    """The part of a vocabulary that the trainer uses: the start symbol, and the pieces of ids."""

    def __init__(self, tokenizer: PretrainedTokenizer) -> None:
        self._tokenizer = tokenizer
        self.bos = tokenizer.start

    def __len__(self) -> int:
        return len(self._tokenizer)

    def decode(self, ids: Iterable[int]) -> list[str]:
        """Return the pieces of ids."""
        return list(self._tokenizer.pieces(list(ids)))


class PretrainedData(TaskData):
    """A task's data for the trainer, made from its plain text."""

    def __init__(
        self, task: TaskData, tokenizer: PretrainedTokenizer, domains: Sequence[str], pairs_per_domain: int
    ) -> None:
        """Read a task.

        Args:
            task: the task on disk.
            tokenizer: for both languages.
            domains: the domains to train on.
            pairs_per_domain: at most this many training pairs of each domain, spread evenly; 0: all.
        """
        vocab = PretrainedVocab(tokenizer)
        super().__init__(**{**vars(task), "source_vocab": vocab, "target_vocab": vocab})
        self.tokenizer, self.trained, self.pairs_per_domain = tokenizer, domains, pairs_per_domain
        self._splits: dict[str, Split] = {}

    def split(self, name: str) -> Split:
        """Return the split `train`, `valid` or `test`, segmented when it is asked for first."""
        if name not in self._splits:
            self._splits[name] = self._segmented(name)
        return self._splits[name]

    def _segmented(self, name: str) -> Split:
        chosen = self.trained if name == "train" else self.domains
        source: list[NDArray[np.int32]] = []
        target: list[NDArray[np.int32]] = []
        labels: list[int] = []
        for domain in chosen:
            lines = self.text(name, domain, self.source_lang)
            translations = self.text(name, domain, self.target_lang)
            rows = np.arange(len(lines))
            if name == "train" and self.pairs_per_domain:
                rows = spread(rows, self.pairs_per_domain)
            source += self.tokenizer.encode([lines[row] for row in rows])
            target += self.tokenizer.encode([translations[row] for row in rows], target=True)
            labels += [self.domains.index(domain)] * len(rows)
        return Split(_ragged(source), _ragged(target), np.array(labels, dtype=np.int16))


def _ragged(rows: Sequence[NDArray[np.int32]]) -> Ragged:
    offsets = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    return Ragged(np.concatenate([*rows, np.empty(0, dtype=np.int32)]), offsets)
