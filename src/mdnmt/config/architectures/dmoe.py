"""The options of DAMHA and DMoE (Song et al. 2026)."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field, model_validator

from mdnmt.config.architectures.architecture import Architecture
from mdnmt.errors import ConfigError


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

    def require_task(self, num_domains: int, *, joint: bool) -> None:
        """Refuse to have more experts at work for a word than there are."""
        super().require_task(num_domains, joint=joint)
        num_experts = self.num_experts or num_domains
        if self.top_k > num_experts and (self.damha or self.encoder_ffn == "moe"):
            raise ConfigError(f"top_k: {self.top_k} experts are to work for a word, but there are {num_experts}")


config_type = DmoeConfig
