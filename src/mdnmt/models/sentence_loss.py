"""The loss of domain classifiers of sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from mdnmt.models.batch import Batch
from mdnmt.models.context import Side
from mdnmt.models.losses import Reduction
from mdnmt.models.transformer import Output


class SentenceDomainLoss:
    """Cross-entropy between the recorded domain logits of sentences and their labels, for all classifiers together.

    With `aux_norm` "text" it is summed over sentences and classifiers; with "code" it is averaged over both, as in the
    released code of Jiang et al. 2020. The trainer divides the result by the number of target tokens.
    """

    name = "sentence"
    packs = True

    def __init__(self, sides: Sequence[Side], aux_norm: Literal["text", "code"] = "text") -> None:
        self.sides = tuple(sides)
        self.aux_norm = aux_norm
        self.reduction: Reduction = "mean" if aux_norm == "code" else "sum"

    def __call__(self, output: Output, batch: Batch) -> Tensor:
        """Return the loss as a sum comparable with the generation loss."""
        logits = [logits_BK for side in self.sides for logits_BK in output.context.recorded("sentence", side)]
        reduction = "mean" if self.aux_norm == "code" else "sum"
        label_B = batch.sentence_label_B
        terms = torch.stack([F.cross_entropy(logits_BK, label_B, reduction=reduction) for logits_BK in logits])
        return terms.mean() if self.aux_norm == "code" else terms.sum()
