"""Mixtures of feed-forward experts, in self-attention and in place of the feed-forward block (Song et al. 2026)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mdnmt.models.context import DomainContext
from mdnmt.models.dropout import dropout
from mdnmt.models.gate import DomainEmbedding, Gate
from mdnmt.models.kernels import takes_cpu_kernel
from mdnmt.models.kernels.expert_sum import expert_sum
from mdnmt.models.projection import Linear


class Experts(nn.Module):
    """MoE(x) = sum_i G_i E_i(x), where each E_i is a network D -> F -> D with a ReLU (eq. 1 and 3).

    Two matrix products suffice for any N: the first maps form one map to N F, and the second sums over experts, because
    the gate has already weighted their hidden states. Experts with weight 0 are computed too: with two of three or four
    experts in use, this costs less than sorting tokens by expert, and keeps all shapes static.
    """

    def __init__(self, model_dim: int, hidden_dim: int, num_experts: int, *, dropout: float = 0.0) -> None:
        super().__init__()
        self.num_experts = num_experts
        self.dropout = dropout
        self.first_weight = nn.Parameter(torch.empty(num_experts, hidden_dim, model_dim))
        self.first_bias = nn.Parameter(torch.zeros(num_experts, hidden_dim))
        self.second_weight = nn.Parameter(torch.empty(model_dim, num_experts, hidden_dim))
        self.second_bias = nn.Parameter(torch.zeros(num_experts, model_dim))
        bound = math.sqrt(6.0 / (model_dim + hidden_dim))  # Xavier, for one expert
        nn.init.uniform_(self.first_weight, -bound, bound)
        nn.init.uniform_(self.second_weight, -bound, bound)

    def forward(self, x_BTD: Tensor, gate_BTN: Tensor) -> Tensor:
        """Return [B, T, D]; the gate may be per sentence, [B, 1, N]."""
        x_MD, first_weight_ED = x_BTD.flatten(0, -2), self.first_weight.flatten(0, 1)
        share_MN = gate_BTN.expand(*x_BTD.shape[:-1], -1).flatten(0, -2)
        first_bias_E, second_weight_DE = self.first_bias.flatten(), self.second_weight.flatten(1)
        if takes_cpu_kernel(x_BTD):
            rate = self.dropout if self.training else 0.0
            y_MD = expert_sum(x_MD, share_MN, first_weight_ED, first_bias_E, second_weight_DE, rate)
        else:
            hidden_MNF = F.linear(x_MD, first_weight_ED, first_bias_E).relu().view(*share_MN.shape, -1)
            share_MN = share_MN.to(hidden_MNF.dtype)
            weighed_ME = dropout((hidden_MNF * share_MN.unsqueeze(-1)).flatten(1), self.dropout, self.training)
            return torch.addmm(share_MN @ self.second_bias, weighed_ME, second_weight_DE.t()).view_as(x_BTD)
        y_MD = y_MD + share_MN.to(y_MD.dtype) @ self.second_bias
        return y_MD.view_as(x_BTD)


class ExpertProjection(nn.Module):
    """Queries, keys and values of self-attention, some of them computed by experts: DAMHA (eq. 7 and 8).

    Each part that comes from experts has its own experts; all share one gate. It reads the token x; or the domain's
    vector e, so that a sentence has one gate; or both, fused. The experts read x in any case.
    """

    def __init__(
        self,
        model_dim: int,
        *,
        gate: Gate,
        experts: Callable[[], Experts],
        targets: Literal["v", "qkv"],
        domain: DomainEmbedding | None = None,
        fuse: Callable[[Tensor, Tensor], Tensor] | None = None,
    ) -> None:
        """Make the projections.

        Args:
            model_dim: D.
            gate: of all experts.
            experts: makes the experts of one part.
            targets: the parts that come from experts.
            domain: what the gate reads; None: the token alone.
            fuse: maps x [B, T, D] and e [B, 1, D] to what the gate reads; None: the domain alone.
        """
        super().__init__()
        self.query_key = Linear(model_dim, 2 * model_dim) if targets == "v" else None
        self.gate = gate
        self.experts = nn.ModuleList(experts() for _ in targets)
        self.domain = domain
        self.fuse = fuse

    def forward(self, x_BTD: Tensor, context: DomainContext | None = None) -> Tensor:
        """Return queries, keys and values side by side, [B, T, 3 D]."""
        read_BTD = x_BTD
        if self.domain is not None:
            assert context is not None, "the gate reads the domain"
            domain_B1D = self.domain(context)
            read_BTD = domain_B1D if self.fuse is None else self.fuse(x_BTD, context.to_tokens(domain_B1D))
        gate_BTN = self.gate(read_BTD)
        if context is not None and self.domain is not None and self.fuse is None:
            gate_BTN = context.to_tokens(gate_BTN)
        parts = [part(x_BTD, gate_BTN) for part in self.experts]
        if self.query_key is not None:
            parts.insert(0, self.query_key(x_BTD))
        return torch.cat(parts, dim=-1)


class DomainExperts(nn.Module):
    """A feed-forward block of experts whose gate sees the gold domain: DMoE (sec. 4.2), or an ordinary MoE given it.

    Domain-only (eq. 9): the gate reads the domain's vector e and the experts read x, so there is one gate per sentence.
    Mix (eq. 10): both read x_d, made from x and e, so there is one gate per token.
    """

    def __init__(
        self,
        *,
        domain: DomainEmbedding,
        gate: Gate,
        experts: Experts,
        fuse: Callable[[Tensor, Tensor], Tensor] | None = None,
    ) -> None:
        """Make the block; `fuse` maps x [B, T, D] and e [B, 1, D] to x_d; None means domain-only."""
        super().__init__()
        self.domain = domain
        self.gate = gate
        self.experts = experts
        self.fuse = fuse

    def forward(self, x_BTD: Tensor, context: DomainContext) -> Tensor:
        """Return [B, T, D] and record the gate, [B, T, N] or [B, 1, N], in `context`."""
        gate_input = self.domain(context)
        if self.fuse is not None:
            x_BTD = gate_input = self.fuse(x_BTD, context.to_tokens(gate_input))
        gate_BTN = self.gate(gate_input)
        context.record("gate", "encoder", gate_BTN)
        if self.fuse is None:
            gate_BTN = context.to_tokens(gate_BTN)
        return self.experts(x_BTD, gate_BTN)  # type: ignore[no-any-return]


class ConcatenatedFusion(nn.Module):
    """x_d = W [x; e] + b."""

    def __init__(self, model_dim: int) -> None:
        super().__init__()
        self.linear = Linear(2 * model_dim, model_dim)

    def forward(self, x_BTD: Tensor, domain_B1D: Tensor) -> Tensor:
        """Return x_d, [B, T, D]."""
        return self.linear(torch.cat([x_BTD, domain_B1D.expand_as(x_BTD)], dim=-1))  # type: ignore[no-any-return]
