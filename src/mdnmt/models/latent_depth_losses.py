"""Losses on the choice of blocks: a prior, agreement between domains, and a target for the number of blocks in use.

Each is added for every target token. B sentences, N blocks, K domains; pi = sigmoid(l) is the probability that a domain
uses a block.
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
    """KL divergence of a block's use from one half, averaged over blocks, for the domain of every target token."""

    name = "block_prior"
    packs = True
    reduction: Reduction = "sum"

    def __init__(self, weight: Scheduled) -> None:
        self.weight = weight

    def __call__(self, output: Output, batch: Batch) -> Tensor:
        """Return the weighted sum over target tokens."""
        kl_K = (math.log(2.0) - entropy(use(output))).mean(1)
        return self.weight.value * (kl_K[batch.domain_B] * batch.target_length_B).sum()


class BlockSharingLoss:
    """Entropy of a block's mean use over domains, summed over blocks; it is lowest when all domains agree."""

    name = "block_sharing"
    packs = True
    reduction: Reduction = "sum"

    def __init__(self, weight: Scheduled) -> None:
        self.weight = weight

    def __call__(self, output: Output, batch: Batch) -> Tensor:
        """Return the weighted sum over target tokens."""
        return self.weight.value * entropy(use(output).mean(0)).sum() * batch.target_words


class BlockCountLoss:
    """(n - target)^2, where n is the expected number of blocks that a domain uses, averaged over domains."""

    name = "block_count"
    packs = True
    reduction: Reduction = "sum"

    def __init__(self, weight: Scheduled, target: int) -> None:
        self.weight, self.target = weight, target

    def __call__(self, output: Output, batch: Batch) -> Tensor:
        """Return the weighted sum over target tokens."""
        return self.weight.value * (use(output).mean(0).sum() - self.target) ** 2 * batch.target_words


def use(output: Output) -> Tensor:
    """Return pi, [K, N]."""
    [logits_KN] = output.context.recorded("block_logits", "encoder")
    return logits_KN.sigmoid()


def entropy(p: Tensor) -> Tensor:
    """Return -p log p - (1 - p) log(1 - p), with a finite gradient everywhere."""
    p = p.clamp(SMALLEST, 1.0 - SMALLEST)
    return -(p * p.log() + (1.0 - p) * (1.0 - p).log())
