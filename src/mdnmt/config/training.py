"""How a run is trained: everything here changes its result, so everything here is part of its identity."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from mdnmt.config.base import Frozen

Beta = Annotated[float, Field(ge=0, lt=1)]


class Training(Frozen):
    """The recipe; the defaults are those of Jiang et al. 2020 as their released commands have them."""

    max_updates: int = Field(50_000, gt=0, description="the run ends here, or earlier by `patience`")
    max_tokens: int = Field(4000, gt=0, description="tokens of a batch on its longer side, padding included")
    accumulate_batches: int = Field(1, gt=0, description="batches whose gradients make one update")
    max_length: int = Field(250, gt=0, description="longer pairs, in BPE pieces, are not trained on")
    learning_rate: float = Field(5e-4, gt=0, description="the peak, reached after the warm-up")
    schedule: Literal["inverse_sqrt", "polynomial"] = Field(
        "inverse_sqrt",
        description="behind the warm-up: falls as 1 / sqrt(update), or (polynomial) in a line to 0 at max_updates",
    )
    warmup_updates: int = Field(4000, ge=0)
    warmup_init_learning_rate: float = Field(1e-7, ge=0)
    min_learning_rate: float = Field(1e-9, ge=0)
    adam_betas: tuple[Beta, Beta] = Field((0.9, 0.98), description="of the running means of gradients and squares")
    adam_eps: float = Field(1e-8, gt=0)
    weight_decay: float = Field(1e-4, ge=0, description="decoupled: subtracts learning rate x decay x weight")
    clip_norm: float = Field(25.0, ge=0, description="0: no clipping")
    precision: Literal["auto", "fp32", "bf16"] = Field("auto", description="auto: bf16 where the device has it")
    validate_every: int = Field(1000, gt=0, description="updates between validations; each leaves a checkpoint")
    validation_metric: Literal["loss", "bleu"] = Field("loss", description="what `best` and `patience` look at")
    validation_bleu_sentences: int = Field(200, ge=0, description="a domain, greedily decoded; 0: no BLEU")
    training_sample_sentences: int = Field(
        500, ge=0, description="a domain, always the same: accuracy and loss on training text at validations; 0: none"
    )
    patience: int = Field(0, ge=0, description="validations without a better one before the run ends; 0: never")
    average_checkpoints: int = Field(10, ge=0, description="the last n are averaged; 0: the best is taken")
    log_every: int = Field(100, gt=0, description="updates between two training lines of metrics.jsonl")
