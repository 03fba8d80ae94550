"""Guided learning: tokens should attend to the domains in which they are frequent (Zhang et al. 2021, sec. 4.2)."""

from __future__ import annotations

from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor

from mdnmt.models.batch import Batch
from mdnmt.models.context import Side
from mdnmt.models.kernels.over_layers import sum_over_layers
from mdnmt.models.losses import Reduction
from mdnmt.models.transformer import Output


def word_domains(counts_KV: Tensor, num_slots: int, *, spare_share: float) -> Tensor:
    """Return the share of each token that belongs to each domain, [V, N], from its counts in the domains.

    The vector space model of Chen, Kuhn and Foster (2014): tf_j(w) = c_j(w) / max_w' c_j(w'), times an idf. The idf is
    the same for all domains of a token, so it cancels when the shares are normalised to sum to one. Half a count is
    added to each, so that no share is zero.

    Args:
        counts_KV: counts of the V tokens in the text of K domains.
        num_slots: N, at least K.
        spare_share: the share of each slot without a domain, before normalisation, where all domains together have 1.

    Returns:
        Rows that sum to one; rows of zeros for tokens that occur in no text (<s>, padding).
    """
    counts_KV = counts_KV.double() + 0.5
    tf_VK = (counts_KV / counts_KV.amax(1, keepdim=True)).t()
    share_VN = F.pad(tf_VK / tf_VK.sum(1, keepdim=True), (0, num_slots - tf_VK.size(1)), value=spare_share)
    is_known_V1 = (counts_KV > 0.5).any(0).unsqueeze(1)
    return torch.where(is_known_V1, share_VN / share_VN.sum(1, keepdim=True), 0.0).float()


class GuidedLoss:
    """lambda Delta: cross-entropy between the shares of a token and its domain attention (eq. 9).

    Summed over the tokens of both sides without padding, and averaged over the layers of all sides. If source and
    target have equal lengths, this adds lambda times the mean of Delta over tokens and layers to the loss of a target
    token.
    """

    name = "guidance"
    packs = True
    reduction: Reduction = "sum"

    def __init__(self, weight: float) -> None:
        """Make the loss, with lambda; `set_shares` must be called before it is computed."""
        self.weight = weight
        self.source_VN: Tensor | None = None
        self.target_VN: Tensor | None = None

    def set_shares(self, source_VN: Tensor, target_VN: Tensor) -> None:
        """Set the shares of source and target tokens, as returned by `word_domains`."""
        self.source_VN, self.target_VN = source_VN, target_VN

    def __call__(self, output: Output, batch: Batch) -> Tensor:
        """Return the loss as a sum comparable with the generation loss."""
        assert self.source_VN is not None and self.target_VN is not None, "Method.prepare comes before training"
        source = (F.embedding(batch.source_BS, self.source_VN), batch.source_mask_BS)
        target = (F.embedding(batch.target_BT, self.target_VN), batch.target_mask_BT)
        sides: dict[Side, tuple[Tensor, Tensor]] = {"encoder": source, "memory": source, "decoder": target}
        total = batch.source_mask_BS.new_zeros((), dtype=torch.float32)
        num_layers = 0
        for side, (share_BTN, mask_BT) in sides.items():
            if layers := output.context.recorded("domain_attention", side):
                total = sum_over_layers(partial(_delta, share_BTN=share_BTN, mask_BT=mask_BT), layers, total)
                num_layers += len(layers)
        return self.weight * total / num_layers


def _delta(logits_BTN: Tensor, *, share_BTN: Tensor, mask_BT: Tensor) -> Tensor:
    delta_BT = -(share_BTN * logits_BTN.log_softmax(-1)).sum(-1)
    return (delta_BT * mask_BT).sum((-2, -1))
