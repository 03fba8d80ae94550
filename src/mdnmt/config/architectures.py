"""The options of every method's model: what `architecture` of a method file, paper or study may set.

They stand apart from the methods that build the models (`mdnmt.methods`), because a plan, a dry run and a table need
only the options, and importing PyTorch takes longer than all the rest of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from mdnmt.config.base import Frozen
from mdnmt.errors import ConfigError

# Where the parts of a network of domain attention are shared.
Sharing = Literal["layer", "side", "kv_shared", "all"]


@dataclass(frozen=True)
class VocabSizes:
    """Sizes of the two vocabularies, and whether they are one."""

    source: int
    target: int
    joint: bool


class Architecture(Frozen):
    """Options that every method has."""

    # Left out of a run's identity at their default: runs trained before the option existed keep their addresses.
    # A method with such options of its own extends the set.
    younger_options: ClassVar[frozenset[str]] = frozenset({"first_position"})

    size: Literal["base", "enlarged", "big"] = Field(
        "base",
        description="enlarged: sqrt(k) times the widths for k domains (Jiang et al.); big: twice widths and heads",
    )
    model_dim: int = Field(512, gt=0, le=16_384, description="width of embeddings and layers")
    ffn_dim: int = Field(2048, gt=0, le=131_072, description="width inside the feed-forward block")
    num_heads: int = Field(8, gt=0, description="of each attention; model_dim is a multiple of it")
    encoder_layers: int = Field(6, gt=0, le=200, description="layers of the encoder")
    decoder_layers: int = Field(6, gt=0, le=200, description="layers of the decoder")
    norm: Literal["pre", "post"] = Field("pre", description="layer norm before or after the residual connection")
    share_embeddings: Literal["none", "decoder", "all"] = Field(
        "none", description="tie the output layer to the target embedding, or all three (joint vocabulary)"
    )
    dropout: float = Field(0.1, ge=0, lt=1, description="of embeddings, and of each block before the residual sum")
    attention_dropout: float = Field(0.0, ge=0, lt=1, description="of attention weights")
    activation_dropout: float = Field(0.0, ge=0, lt=1, description="inside the feed-forward block")
    label_smoothing: float = Field(0.1, ge=0, lt=1, description="share of the target spread over the vocabulary")
    max_positions: int = Field(1024, gt=0, le=1_000_000, description="longest sentence, in BPE pieces")
    first_position: int = Field(
        0, ge=0, le=1_000_000, description="position of a sentence's first piece; fairseq counts from 2"
    )

    @model_serializer(mode="wrap")
    def _without_younger_defaults(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        fields = type(self).model_fields
        at_default = {name for name in self.younger_options if getattr(self, name) == fields[name].default}
        return {name: value for name, value in dump(self).items() if name not in at_default}

    @model_validator(mode="after")
    def _heads_divide_width(self) -> Architecture:
        if self.model_dim % self.num_heads:
            raise ValueError(f"model_dim {self.model_dim} is not a multiple of num_heads {self.num_heads}")
        return self

    def require_task(self, num_domains: int, *, joint: bool) -> None:
        """Refuse a task for which no model with these options can be built.

        Args:
            num_domains: of the task.
            joint: the task has one vocabulary for both languages.

        Raises:
            ConfigError: the options do not fit the task.
        """
        if self.share_embeddings == "all" and not joint:
            raise ConfigError(
                "share_embeddings: all needs one vocabulary for both languages, but the task has two; "
                "set `joint: true` under the task's vocabulary, or share_embeddings: decoder"
            )


class TransformerConfig(Architecture):
    """The options of all methods, and one for a control."""

    younger_options: ClassVar[frozenset[str]] = Architecture.younger_options | {"encoder_initial_scale"}

    encoder_initial_scale: float = Field(
        1.0,
        gt=0,
        description="factor on the initial weights of the encoder's projections; a mean of k independent ones has "
        "1 / sqrt(k)",
    )


class DomainTagConfig(Architecture):
    """What DomainTag adds to a Transformer."""

    tag_position: Literal["first", "last"] = Field(
        "first", description="before the source sentence (Tars and Fishel), or behind its last word"
    )


class MultitaskConfig(Architecture):
    """What the three rows add to a Transformer."""

    gradient: Literal["pass", "reverse", "half"] = Field(
        "pass",
        description="into the encoder: as it is (MTL), reversed (AdvL), or reversed for half of the features (PAdvL)",
    )
    aux_norm: Literal["text", "code"] = Field(
        "code", description="domain loss as the mean over sentences of the released code, or as their sum (text)"
    )


class WordContextConfig(Architecture):
    """Options of WDC and WL; either can be used alone."""

    word_contexts: bool = Field(True, description="WDC: domain-specific and shared encoder states through gates")
    feature_dim: int = Field(
        300, gt=0, le=16_384, description="width of the sentence vectors that open the gates (Zeng et al.)"
    )
    adversarial_weight: float = Field(0.1, ge=0, description="lambda: of the reversed gradient in the shared branch")
    weighted_loss: Literal["none", "aligned", "misaligned"] = Field(
        "none",
        description="WL: word j counts 1 + alpha_j; misaligned: alpha on the words the released code gives it to",
    )
    aux_norm: Literal["text", "code"] = Field(
        "text", description="domain losses as sums over sentences, or as the code's mean"
    )


class WaldmConfig(Architecture):
    """What WALDM adds to a Transformer; the method files `*-released-code` change the last four options."""

    mixed_sides: Literal["encoder", "both"] = Field("both", description='the rows "Encoder" and "E/DC"')
    proportion_smoothing: float = Field(0.05, ge=0, le=1, description="eps of D(x), sec. 3.1")
    weighted_loss: Literal["none", "aligned", "misaligned"] = Field(
        "none", description='the rows "... + WL"; misaligned: alpha on the wrong tokens, as in the released code'
    )
    input_link: Literal["detach", "pass", "reverse", "half"] = Field(
        "detach", description="L_mix reaches the Transformer as in MTL (pass), AdvL (reverse) or PAdvL (half), sec. 4.6"
    )
    labels: Literal["used", "unused_open", "unused_frozen"] = Field(
        "used", description="unused (Table 5): no L_mix; L_gen trains D (open), or D keeps its initial values (frozen)"
    )
    mix_out_projection: bool = Field(True, description="one W_O per domain (text), or one for all (code)")
    proportion_loss_on_logits: bool = Field(False, description="L_mix on D(x) (text), or on the plain softmax (code)")
    aux_norm: Literal["text", "code"] = Field(
        "text", description="L_mix and WL's loss: sums over tokens or sentences (text), or means (code)"
    )
    clip_proportions_apart: bool = Field(
        True, description="clip the domain classifiers by the norm of their own gradients"
    )

    @model_validator(mode="after")
    def _losses_have_their_labels(self) -> WaldmConfig:
        if self.labels != "used" and (self.weighted_loss != "none" or self.input_link != "detach"):
            raise ValueError(
                f"labels: {self.labels} trains without labels, but weighted_loss and input_link change losses that "
                "need them; expected weighted_loss: none and input_link: detach"
            )
        return self


class NaiveWaldmConfig(Architecture):
    """Options of the re-implementation."""

    mixed_sides: Literal["encoder", "both"] = Field("both", description='the rows "Encoder" and "E/DC"')
    proportion_smoothing: float = Field(0.05, ge=0, lt=1, description="eps of D(x)")
    initialisation: Literal["default", "xavier"] = Field(
        "default", description="first values: torch's own, or Xavier for all that is found; hidden maps never are"
    )


class DomainAwareAttentionConfig(Architecture):
    """What domain-aware self-attention adds to a Transformer."""

    younger_options: ClassVar[frozenset[str]] = Architecture.younger_options | {"level"}

    level: Literal["word", "sentence"] = Field(
        "word", description="sentence: all tokens have the mean of the source tokens' domain vectors (sec. 3.2)"
    )
    placement: Literal["encoder", "decoder", "both", "cross", "all"] = Field(
        "both", description="which attentions: self-attention of a side or of both, encoder-decoder attention, or all"
    )
    num_clusters: int | None = Field(
        4, gt=0, le=10_000, description="N domain vectors; null: as many as the task has domains"
    )
    dan_sharing: Sharing = Field(
        "layer",
        description="layer: maps of its own in each, domain vectors one set a side; side: one network a side; "
        "kv_shared: only W_u is its own; all: one network",
    )
    guidance_weight: float = Field(0.0, ge=0, description="lambda of eq. 9: 0 unsupervised, 1 guided learning")
    spare_share: float = Field(
        0.01, gt=0, description="guided: what a domain vector without a domain gets of each word, all domains get 1"
    )

    @model_validator(mode="after")
    def _sentences_have_an_encoder(self) -> DomainAwareAttentionConfig:
        if self.level == "sentence" and self.placement not in ("encoder", "both"):
            raise ValueError(
                f"level sentence takes the sentence's domain from the encoder's self-attention; placement is "
                f"{self.placement}, expected encoder or both"
            )
        return self

    def require_task(self, num_domains: int, *, joint: bool) -> None:
        """Refuse guided learning with fewer domain vectors than the task has domains."""
        super().require_task(num_domains, joint=joint)
        if self.guidance_weight and self.num_clusters is not None and self.num_clusters < num_domains:
            raise ConfigError(
                f"guided learning ties a domain vector to each domain: {num_domains} domains, but num_clusters "
                f"{self.num_clusters}; set num_clusters to {num_domains} or more, or null"
            )


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


class LatentDepthConfig(Architecture):
    """What LDSPSLV adds to a Transformer."""

    mode: Literal["depth", "shared_or_private"] = Field(
        "depth", description="a domain uses a sub-layer or skips it; or uses the shared copy of it or one of its own"
    )
    encoder_depth_factor: int = Field(
        2, gt=0, le=20, description="that many times encoder_layers are there to choose from"
    )
    decoder_depth_factor: int = Field(2, gt=0, le=20, description="likewise for decoder_layers")
    initial_logit: float = Field(1.0, description="mean of the first logits; above 0 most sub-layers start in use")
    temperature_start: float = Field(5.0, gt=0, description="tau of the Gumbel-Softmax, falling in a line")
    temperature_end: float = Field(0.5, gt=0, description="tau at the last update")
    soft_share: float = Field(0.2, ge=0, le=1, description="share of the updates with soft choices, hard ones after it")
    anneal_share: float = Field(0.2, gt=0, le=1, description="share of the updates in which a loss gets its weight")
    prior_weight: float = Field(0.1, ge=0, description="of the KL from a use of one half, from the end of soft_share")
    sharing_weight: float = Field(0.1, ge=0, description="of the disagreement between domains, after the prior's")
    count_weight: float = Field(0.1, ge=0, description="of the number of sub-layers in use, along with sharing")


def with_size(config: Architecture, num_domains: int) -> Architecture:
    """Return the architecture with the widths that its `size` means for k domains.

    Enlarged: model_dim is the nearest multiple of num_heads to sqrt(k) x model_dim (for k = 2, 512 becomes 724
    with 4 heads, and 728 with 8), and ffn_dim grows in proportion. Big: what Transformer-big is to Transformer-base
    (Vaswani et al. 2017, Table 3).
    """
    if config.size == "base":
        return config
    if config.size == "big":
        dims = {"model_dim": 2 * config.model_dim, "ffn_dim": 2 * config.ffn_dim, "num_heads": 2 * config.num_heads}
    else:
        model_dim = round(config.model_dim * num_domains**0.5 / config.num_heads) * config.num_heads
        dims = {"model_dim": model_dim, "ffn_dim": round(config.ffn_dim * model_dim / config.model_dim)}
    return config.model_copy(update={**dims, "size": "base"})


# The options of each method of this package, by the name of its module in `mdnmt.methods`.
ARCHITECTURES: dict[str, type[Architecture]] = {
    "dmoe": DmoeConfig,
    "domain_aware_attention": DomainAwareAttentionConfig,
    "domain_tag": DomainTagConfig,
    "latent_depth": LatentDepthConfig,
    "multitask": MultitaskConfig,
    "naive_waldm": NaiveWaldmConfig,
    "transformer": TransformerConfig,
    "waldm": WaldmConfig,
    "word_context": WordContextConfig,
}
