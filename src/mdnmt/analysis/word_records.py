"""Collect the proportions, domain attention and gates of each token, with the word it belongs to, batch by batch."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mdnmt.models.batch import Batch
from mdnmt.models.context import DomainContext, Side
from mdnmt.tasks.task_data import Indices, Split, TaskData

SIDES: tuple[Side, ...] = ("encoder", "memory", "decoder")
END, START = -1, -2  # word numbers of </s> after the source and of <s> before the target


class WordRecords:
    """Holds the values that every layer recorded for each token, and the word that the token is part of.

    Tokens of one word are adjacent. Words are numbered in the order in which they first occur, separately for `source`
    and `target`. Records of several kinds share the numbering if they are given the same `numbers`.
    """

    def __init__(self, data: TaskData, numbers: dict[str, dict[str, int]]) -> None:
        self.numbers = numbers
        self._vocabs = {"source": data.source_vocab, "target": data.target_vocab}
        self._parts: dict[str, list[NDArray[Any]]] = {}
        self._occurrences: dict[str, int] = {}

    def add(self, kind: str, context: DomainContext, batch: Batch, split: Split, rows: Indices) -> None:
        """Add the logits of this kind that the layers recorded for a batch of the sentences `rows`, as shares."""
        for side in SIDES:
            if layers := context.recorded(kind, side):
                text = "target" if side == "decoder" else "source"
                mask_BT = batch.target_mask_BT if text == "target" else batch.source_mask_BS
                real_BT = mask_BT.cpu().numpy()
                self._keep(side, shares(layers)[:, real_BT])
                self._keep(f"{side}_domain", np.repeat(split.domains[rows], real_BT.sum(axis=1)).astype(np.int64))
                for row in rows:
                    self._place(side, text, split, int(row))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return, for each side with records, shares [L, N, K] of N tokens, and arrays [N] that describe the tokens.

        `<side>_domain` is the sentence's domain. `<side>_word` is the word's number, or END or START for tokens that
        are not words. `<side>_position` counts tokens from the start of the sentence. `<side>_occurrence` numbers the
        running words of the text, so the tokens of one word share it.
        """
        return {
            name: np.concatenate(parts, axis=1 if name in SIDES else 0) for name, parts in sorted(self._parts.items())
        }

    def _keep(self, name: str, values: NDArray[Any]) -> None:
        self._parts.setdefault(name, []).append(values)

    def _place(self, side: Side, text: str, split: Split, row: int) -> None:
        sentence = split.source[row] if text == "source" else split.target[row]
        words = self._vocabs[text].words(np.asarray(sentence).tolist())
        known = self.numbers[text]
        number, member = [], []
        for place, (word, size) in enumerate(words):
            number += [known.setdefault(word, len(known))] * size
            member += [place] * size
        edge = len(words)
        number, member = ([*number, END], [*member, edge]) if text == "source" else ([START, *number], [edge, *member])
        before = self._occurrences.get(side, 0)
        self._keep(f"{side}_word", np.array(number, dtype=np.int64))
        self._keep(f"{side}_position", np.arange(len(number), dtype=np.int64))
        self._keep(f"{side}_occurrence", np.array(member, dtype=np.int64) + before)
        self._occurrences[side] = before + edge + 1


def shares(logits: list[Tensor]) -> NDArray[np.float32]:
    """Return the logits of all layers as shares that sum to one, [L, B, T, K]."""
    return torch.stack([layer.float().softmax(-1) for layer in logits]).cpu().numpy()


class Mean:
    """A running mean over words."""

    def __init__(self) -> None:
        self.total: Any = 0.0
        self.count = 0

    def add(self, values_LN: NDArray[np.float64]) -> None:
        """Add values [L, words, ...]."""
        self.total = self.total + values_LN.sum(axis=1)
        self.count += values_LN.shape[1]

    def values(self) -> list[Any]:
        """Return the mean over words, [L, ...]."""
        found: list[Any] = (self.total / max(1, self.count)).tolist()
        return found


class MeanGates:
    """The mean gate over the tokens of each domain, layer by layer."""

    def __init__(self) -> None:
        self._means: dict[int, Mean] = {}

    def add(self, context: DomainContext, batch: Batch, labels_B: NDArray[Any]) -> None:
        """Add the gates of a batch; a gate that depends only on the domain, [B, 1, N], counts for all tokens."""
        if not (layers := context.recorded("gate", "encoder")):
            return
        mask_BS = batch.source_mask_BS.cpu().numpy()
        g_LBSN = torch.stack([g.expand(*mask_BS.shape, -1) for g in layers]).double().cpu().numpy()
        for label in np.unique(labels_B):
            self._means.setdefault(int(label), Mean()).add(g_LBSN[:, mask_BS & (labels_B == label)[:, None]])

    def values(self, domains: tuple[str, ...]) -> dict[str, list[list[float]]]:
        """Return domain -> mean gates [L][N]; empty for a method without gates."""
        return {domains[label]: mean.values() for label, mean in sorted(self._means.items())}
