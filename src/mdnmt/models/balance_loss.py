"""Losses on the gates of the experts, and the factor that weights them (Song et al. 2026, sec. 4.3)."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

from torch import Tensor

from mdnmt.models.batch import Batch
from mdnmt.models.kernels.over_layers import each_layer
from mdnmt.models.scheduled import Scheduled
from mdnmt.models.transformer import Output

EPSILON = 1e-9  # of eq. 13


def impact_factor(
    update: int, max_updates: int, *, high: float, low: float, start: int, end: int | None, lifted: bool
) -> float:
    """Return alpha of an update: max((H - L) sin(pi p), L), where p goes from 0 to 1 (eq. 15 and 16).

    Args:
        update: t, from 1.
        max_updates: length of the whole training.
        high: H.
        low: L.
        start: T_s; before it p is 0.
        end: T_e, after which p is 1; None: the last update.
        lifted: use L + (H - L) sin(pi p) instead; its peak is H, as the paper's text says, not H - L.
    """
    last = max_updates if end is None else end
    p = min(max((update - start) / max(last - start, 1), 0.0), 1.0)
    rise = (high - low) * math.sin(math.pi * p)
    return low + rise if lifted else max(rise, low)


class BalanceLoss:
    """alpha L_lb1: how far the mean use of the experts is from uniform (eq. 12), mean over layers."""

    name = "balance"
    packs = True

    def __init__(self, alpha: Scheduled) -> None:
        self.alpha = alpha

    def __call__(self, output: Output, batch: Batch) -> Tensor:
        """Return the loss of the batch, times its target tokens."""
        return self.alpha.value * _layer_mean(output, batch, _unevenness) * batch.target_words


class EntropyLoss:
    """alpha L_lb2: the mean entropy of a token's gate (or a sentence's), times lambda (eq. 13), mean over layers."""

    name = "entropy"
    packs = True

    def __init__(self, alpha: Scheduled, weight: float) -> None:
        """Make the loss; `weight` is lambda."""
        self.alpha = alpha
        self.weight = weight

    def __call__(self, output: Output, batch: Batch) -> Tensor:
        """Return the loss of the batch, times its target tokens."""
        return self.alpha.value * self.weight * _layer_mean(output, batch, _mean_entropy) * batch.target_words


def _layer_mean(output: Output, batch: Batch, term: Callable[..., Tensor]) -> Tensor:
    """Return the mean over the layers with experts of term(gate [B, T, N], weight of each token in a mean [B, T])."""
    gates = output.context.recorded("gate", "encoder")
    # A gate per sentence is [B, 1, N].
    mask_BT = (batch.sentence_mask_B1 if gates[0].size(1) == 1 else batch.source_mask_BS).to(gates[0].dtype)
    share_BT = mask_BT / mask_BT.sum()
    return each_layer(partial(term, share_BT=share_BT), gates).mean()


def _unevenness(gate_BTN: Tensor, share_BT: Tensor) -> Tensor:
    mean_N = (gate_BTN * share_BT.unsqueeze(-1)).sum((-3, -2))
    return (mean_N - 1.0 / gate_BTN.size(-1)).square().mean(-1)


def _mean_entropy(gate_BTN: Tensor, share_BT: Tensor) -> Tensor:
    entropy_BT = -(gate_BTN * (gate_BTN + EPSILON).log()).sum(-1)
    return (entropy_BT * share_BT).sum((-2, -1))
