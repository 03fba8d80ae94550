"""DAMHA and DMoE: experts in the encoder's self-attention and feed-forward blocks (Song et al. 2026, sec. 4)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import ClassVar, Literal

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn

from mdnmt.errors import ConfigError
from mdnmt.methods.assembly import LayerParts, assemble, make_encoder
from mdnmt.methods.method import Architecture, Method, VocabSizes
from mdnmt.models.balance_loss import BalanceLoss, EntropyLoss, impact_factor
from mdnmt.models.experts import ConcatenatedFusion, DomainExperts, ExpertProjection, Experts
from mdnmt.models.gate import DomainEmbedding, Gate
from mdnmt.models.losses import LabelSmoothedCrossEntropy, Loss
from mdnmt.models.projection import Linear, ProjectionFactory
from mdnmt.models.scheduled import Scheduled


class DmoeConfig(Architecture):
    """The encoder's blocks, how experts are chosen, and the losses on their gates."""

    younger_options: ClassVar[frozenset[str]] = Architecture.younger_options | {"damha_gate_input"}

    damha: bool = Field(True, description="experts in the encoder's self-attention (eq. 8)")
    damha_targets: Literal["v", "qkv"] = Field("v", description="values from experts (eq. 8), or queries and keys too")
    damha_gate_input: Literal["token", "domain", "mix"] = Field(
        "token", description="DAMHA's gate reads the word (eq. 8), its sentence's domain, or both, fused as in eq. 10"
    )
    encoder_ffn: Literal["plain", "moe", "dmoe"] = Field(
        "dmoe", description="feed-forward blocks: plain, the top_k of the experts (moe), or all experts (dmoe)"
    )
    gate_input: Literal["domain", "mix"] = Field(
        "domain", description="the feed-forward experts' gate reads the domain (eq. 9), or word and domain (eq. 10)"
    )
    fusion: Literal["add", "concat"] = Field("add", description="x_d of eq. 10: x + e, or a linear map of [x; e]")
    num_experts: int | None = Field(None, gt=0, le=10_000, description="N; null: as many as domains")
    top_k: int = Field(2, gt=0, description="experts at work for a word in DAMHA and in moe (eq. 2)")
    gate: Literal["ffn", "linear"] = Field("ffn", description="gates that read words: two layers (eq. 3), or one")
    domain_gate: Literal["ffn", "linear"] = Field("linear", description="gates that read the domain's vector alone")
    domain_embedding_std: float | None = Field(
        None, gt=0, description="the domains' vectors are drawn from N(0, std^2); null: std = 1 / sqrt(model_dim)"
    )
    balance_losses: Literal["none", "lb1", "lb2", "both"] = Field(
        "none", description="on the gates of dmoe, eq. 12, 13"
    )
    entropy_weight: float = Field(1.0, ge=0, description="lambda of eq. 13")
    alpha_high: float = Field(0.1, ge=0, description="H of eq. 15")
    alpha_low: float = Field(0.01, ge=0, description="L of eq. 15")
    alpha_start_update: int = Field(0, ge=0, description="T_s of eq. 16")
    alpha_end_update: int | None = Field(None, gt=0, description="T_e of eq. 16; null: the last update")
    alpha_fix: bool = Field(False, description="alpha = L + (H - L) sin(pi p): its peak is H, as the text says")

    @model_validator(mode="after")
    def _options_have_gates(self) -> DmoeConfig:
        if self.damha_gate_input != "token" and not self.damha:
            raise ValueError(f"damha_gate_input {self.damha_gate_input} needs damha: true")
        if self.balance_losses != "none" and self.encoder_ffn != "dmoe":
            raise ValueError(f"balance_losses {self.balance_losses} needs encoder_ffn: dmoe")
        if self.alpha_end_update is not None and self.alpha_end_update <= self.alpha_start_update:
            raise ValueError(f"alpha_end_update {self.alpha_end_update} is not after alpha_start_update")
        return self


config_type = DmoeConfig


def build(config: DmoeConfig, vocab: VocabSizes, num_domains: int) -> Method:
    """Build a Transformer with experts in its encoder; its parts and losses decide which row of Table 6 it is.

    Raises:
        ConfigError: `top_k` is larger than the number of experts.
    """
    num_experts = config.num_experts or num_domains
    if config.top_k > num_experts and (config.damha or config.encoder_ffn == "moe"):
        raise ConfigError(f"top_k: {config.top_k} experts are to work for a word, but there are {num_experts}")
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
