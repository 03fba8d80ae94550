"""The options of WALDM (Jiang et al. 2020)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from mdnmt.config.architectures.architecture import Architecture


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


config_type = WaldmConfig
