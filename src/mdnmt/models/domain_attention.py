"""Domain-aware self-attention (Zhang et al. 2021, sec. 3.2 and 4.1): keys and values carry each token's domain vector.

Shapes: N domain vectors, M their width, D model width.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mdnmt.models.context import DomainContext, Side
from mdnmt.models.projection import Linear


def domain_vectors(num_vectors: int, width: int) -> nn.Parameter:
    """Return m_1 ... m_N as rows, [N, M], drawn from a normal distribution like token embeddings."""
    return nn.Parameter(torch.empty(num_vectors, width).normal_(std=width**-0.5))


class DomainAttention(nn.Module):
    """The domain attention network: each token attends to the domain vectors (eq. 6 to 8).

    a = softmax((x W_u)(m W_mK)^T / sqrt(d_m)), z = sum_j a_j (m_j W_mV). The caller passes its parts, so that layers
    can share them.
    """

    def __init__(self, vectors_NM: nn.Parameter, *, query: Linear, key: Linear, value: Linear) -> None:
        super().__init__()
        self.vectors = vectors_NM
        self.query = query
        self.key = key
        self.value = value

    def forward(self, x_BTD: Tensor) -> tuple[Tensor, Tensor]:
        """Return the logits of a, [B, T, N], and the rows m_j W_mV, [N, M], of which z is the sum weighted by a.

        W_u is folded into the N keys, and a linear map of z can be applied to the N rows instead, so that no token is
        multiplied by a D x D matrix of the network.
        """
        # A loss takes logarithms of the attention, so it is in float32 even under autocast.
        with torch.autocast(x_BTD.device.type, enabled=False):
            key_NM = self.key(self.vectors) / math.sqrt(self.vectors.size(-1))
            logits_BTN = F.linear(x_BTD.to(key_NM.dtype), key_NM @ self.query.weight)
            return logits_BTN, self.value(self.vectors)


class DomainAwareProjection(nn.Module):
    """Keys and values x W + z W_z and, if `out_dim` is 3 in_dim, queries x W before them (eq. 4 and 5)."""

    def __init__(self, in_dim: int, out_dim: int, *, network: DomainAttention, side: Side) -> None:
        """Make the projections.

        Args:
            in_dim: width of x, of z, of keys and of values.
            out_dim: 3 in_dim for queries, keys and values, or 2 in_dim for keys and values.
            network: computes z.
            side: the side whose tokens x are.
        """
        super().__init__()
        self.words = Linear(in_dim, out_dim)
        self.domains = Linear(in_dim, 2 * in_dim, bias=False)
        self.network = network
        self.side: Side = side

    def forward(self, x_BTD: Tensor, context: DomainContext) -> Tensor:
        """Return [B, T, out_dim] and record the logits of the domain attention in `context`."""
        logits_BTN, values_NM = self.network(x_BTD)
        context.record("domain_attention", self.side, logits_BTN)
        y_BTO: Tensor = self.words(x_BTD)
        added_NO = F.pad(self.domains(values_NM), (y_BTO.size(-1) - 2 * values_NM.size(-1), 0)).to(y_BTO.dtype)
        added_BTO: Tensor = logits_BTN.softmax(-1).to(y_BTO.dtype) @ added_NO
        return y_BTO + added_BTO


class SentenceDomainProjection(nn.Module):
    """Queries, keys and values with one domain vector z for all tokens of a sentence (sec. 3.2, last sentence).

    z = sum_j b_j (m_j W_mV), where b is the mean of the domain attention a over the source tokens. The decoder's layers
    take the b of the encoder's last layer, since a target has no domain before it is complete. W_zK is left out: with
    one z, q . z W_zK is the same for all keys of a query, so it cancels in the softmax.
    """

    def __init__(
        self, in_dim: int, *, vectors_NM: nn.Parameter, value: Linear, network: DomainAttention | None
    ) -> None:
        """Make the projections; `network` computes b in the encoder, and is None in the decoder."""
        super().__init__()
        self.words = Linear(in_dim, 3 * in_dim)
        self.domains = Linear(in_dim, in_dim, bias=False)
        self.vectors = vectors_NM
        self.value = value
        self.network = network

    def forward(self, x_BTD: Tensor, context: DomainContext) -> Tensor:
        """Return [B, T, 3 in_dim]; in the encoder, record the logits of a and put b into `context`."""
        if self.network is not None:
            assert context.source_mask_BS is not None, "the encoder runs"
            logits_BTN, _ = self.network(x_BTD)
            context.record("domain_attention", "encoder", logits_BTN)
            attention_BTN, mask_BT = context.to_sentences(logits_BTN.softmax(-1), context.source_mask_BS)
            share_BT1 = mask_BT.unsqueeze(-1) / mask_BT.sum(1)[:, None, None]
            context.use_BN = (attention_BTN * share_BT1.to(logits_BTN.dtype)).sum(1)
        assert context.use_BN is not None, "the encoder has run"
        y_BTO: Tensor = self.words(x_BTD)
        added_ND = self.domains(self.value(self.vectors))
        added_B1D = context.to_tokens((context.use_BN.to(added_ND.dtype) @ added_ND).unsqueeze(1))
        return y_BTO + F.pad(added_B1D, (2 * added_B1D.size(-1), 0)).to(y_BTO.dtype)
