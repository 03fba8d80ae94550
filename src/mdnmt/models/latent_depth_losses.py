"""What keeps the choice of blocks in bounds: a prior, agreement between domains, and a number of blocks to use.

Each is a number a target word. B sentences, N blocks, K domains; pi = sigmoid(l) is how often a domain uses a block.
"""

from __future__ import annotations

import math

from torch import Tensor

from mdnmt.models.batch import Batch
from mdnmt.models.losses import Reduction
from mdnmt.models.scheduled import Scheduled
from mdnmt.models.transformer import Output

SMALLEST = 1e-6


class BlockPriorLoss:
    """KL of a block's use from one half, the mean over blocks, for the domain of every target word."""

    name = "block_prior"
    reduction: Reduction = "sum"

    def __init__(self, weight: Scheduled) -> None:
        self.weight = weight

    def __call__(self, output: Output, batch: Batch) -> Tensor:
        """Return the weighted sum over target words."""
        kl_K = (math.log(2.0) - entropy(use(output))).mean(1)
        words_B = batch.target_mask_BT.sum(1)
        return self.weight.value * (kl_K[batch.domain_B] * words_B).sum()


class BlockSharingLoss:
    """Entropy of a block's mean use over domains, summed over blocks: least where all domains agree."""

    name = "block_sharing"
    reduction: Reduction = "sum"

    def __init__(self, weight: Scheduled) -> None:
        self.weight = weight

    def __call__(self, output: Output, batch: Batch) -> Tensor:
        """Return the weighted sum over target words."""
        return self.weight.value * entropy(use(output).mean(0)).sum() * batch.label_N.size(0)


class BlockCountLoss:
    """(expected number of blocks of a domain, the mean over domains - target)^2."""

    name = "block_count"
    reduction: Reduction = "sum"

    def __init__(self, weight: Scheduled, target: int) -> None:
        self.weight, self.target = weight, target

    def __call__(self, output: Output, batch: Batch) -> Tensor:
        """Return the weighted sum over target words."""
        return self.weight.value * (use(output).mean(0).sum() - self.target) ** 2 * batch.label_N.size(0)


def use(output: Output) -> Tensor:
    """Return pi, [K, N]."""
    [logits_KN] = output.context.recorded("block_logits", "encoder")
    return logits_KN.sigmoid()


def entropy(p: Tensor) -> Tensor:
    """Return -p log p - (1 - p) log(1 - p), with a finite slope everywhere."""
    p = p.clamp(SMALLEST, 1.0 - SMALLEST)
    return -(p * p.log() + (1.0 - p) * (1.0 - p).log())
