"""DAMHA and DMoE: experts in the encoder's self-attention and feed-forward blocks (Song et al. 2026, sec. 4)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Literal

import torch
from torch import Tensor, nn

from mdnmt.config.architectures.dmoe import DmoeConfig
from mdnmt.methods.assembly import LayerParts, assemble, make_encoder
from mdnmt.methods.method import Method, VocabSizes
from mdnmt.models.balance_loss import BalanceLoss, EntropyLoss, impact_factor
from mdnmt.models.experts import ConcatenatedFusion, DomainExperts, ExpertProjection, Experts
from mdnmt.models.gate import DomainEmbedding, Gate
from mdnmt.models.losses import LabelSmoothedCrossEntropy, Loss
from mdnmt.models.projection import Linear, ProjectionFactory
from mdnmt.models.scheduled import Scheduled

config_type = DmoeConfig


def build(config: DmoeConfig, vocab: VocabSizes, num_domains: int) -> Method:
    """Build a Transformer with experts in its encoder; its parts and losses decide which row of Table 6 it is."""
    num_experts = config.num_experts or num_domains
    needs_domain = config.encoder_ffn != "plain" or config.damha_gate_input != "token"
    domain = DomainEmbedding(num_domains, config.model_dim, std=config.domain_embedding_std) if needs_domain else None
    parts = LayerParts(
        self_attention=_damha(config, num_experts, domain) if config.damha else Linear,
        ffn_block=_expert_block(config, num_experts, domain) if config.encoder_ffn != "plain" else None,
    )
    # Eq. 11 spreads eps over the V - 1 wrong tokens. Spreading eps V / (V - 1) over all V gives the same.
    smoothing = config.label_smoothing * vocab.target / (vocab.target - 1)
    alpha = Scheduled(
        partial(
            impact_factor,
            high=config.alpha_high,
            low=config.alpha_low,
            start=config.alpha_start_update,
            end=config.alpha_end_update,
            lifted=config.alpha_fix,
        )
    )
    losses: list[Loss] = [LabelSmoothedCrossEntropy(smoothing)]
    if config.balance_losses in ("lb1", "both"):
        losses.append(BalanceLoss(alpha))
    if config.balance_losses in ("lb2", "both"):
        losses.append(EntropyLoss(alpha, config.entropy_weight))
    return Method(
        assemble(config, vocab, encoder=make_encoder(config, parts)),
        losses,
        schedules=[alpha] if config.balance_losses != "none" else [],
        needs_domain=needs_domain,
        packs=True,
    )


def _experts(config: DmoeConfig, num_experts: int) -> Experts:
    return Experts(config.model_dim, config.ffn_dim, num_experts, dropout=config.activation_dropout)


def _gate(config: DmoeConfig, num_experts: int, reads: Literal["token", "domain", "mix"], *, top_k: int | None) -> Gate:
    form = config.domain_gate if reads == "domain" else config.gate
    hidden_dim = config.ffn_dim if form == "ffn" else None
    return Gate(config.model_dim, num_experts, hidden_dim=hidden_dim, top_k=top_k)


def _fusion(config: DmoeConfig) -> Callable[[Tensor, Tensor], Tensor]:
    return torch.add if config.fusion == "add" else ConcatenatedFusion(config.model_dim)


def _damha(config: DmoeConfig, num_experts: int, domain: DomainEmbedding | None) -> ProjectionFactory:
    reads = config.damha_gate_input

    def projection(in_dim: int, out_dim: int) -> nn.Module:
        return ExpertProjection(
            in_dim,
            gate=_gate(config, num_experts, reads, top_k=config.top_k),
            experts=partial(_experts, config, num_experts),
            targets=config.damha_targets,
            domain=domain if reads != "token" else None,
            fuse=_fusion(config) if reads == "mix" else None,
        )

    return projection


def _expert_block(config: DmoeConfig, num_experts: int, domain: DomainEmbedding | None) -> Callable[[], nn.Module]:
    assert domain is not None, "the gates of these experts read the domain"
    top_k = config.top_k if config.encoder_ffn == "moe" else None

    def block() -> nn.Module:
        fuse = _fusion(config) if config.gate_input == "mix" else None
        return DomainExperts(
            domain=domain,
            experts=_experts(config, num_experts),
            gate=_gate(config, num_experts, config.gate_input, top_k=top_k),
            fuse=fuse,
        )

    return block
