"""How a run is trained: everything here changes its result, so all but `layout` is part of its identity."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from mdnmt.config.base import Frozen

Beta = Annotated[float, Field(ge=0, lt=1)]
Weight = Annotated[float, Field(gt=0)]
# YAML reads a bare `off` as false.
Compile = Literal["off", "default", "reduce-overhead"]
CompileOption = Annotated[Compile, BeforeValidator(lambda value: "off" if value is False else value)]

# Two ways to set the same thing: a layer of options that sets one overrides both in the layers beneath it.
ALTERNATIVES = (
    ("max_updates", "max_epochs"),
    ("validate_every", "validate_every_epochs"),
    ("max_tokens", "batch_sentences"),
)


class DomainSampling(Frozen):
    """How often each domain is trained on; an epoch still has as many pairs as the run's training text."""

    temperature: float | None = Field(
        None,
        gt=0,
        description="T: a domain of n pairs gets a share proportional to n ** (1 / T); 1: as in the text; large: equal",
    )
    weights: dict[str, Weight] | None = Field(None, description="domain -> its share, relative to the others")

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        if (self.temperature is None) == (self.weights is None):
            raise ValueError("expected either `temperature` or `weights`")
        return self


class Training(Frozen):
    """The recipe; the defaults are those of the commands that Jiang et al. 2020 released."""

    max_updates: int = Field(50_000, gt=0, description="the run ends here, or earlier by `patience`")
    max_epochs: float | None = Field(
        None, gt=0, description="in place of max_updates: passes over the run's own training text"
    )
    max_tokens: int = Field(4000, gt=0, description="tokens of a batch on its longer side, padding included")
    batch_sentences: int | None = Field(
        None, gt=0, description="in place of max_tokens: pairs of a batch, however long they are"
    )
    domain_sampling: DomainSampling | None = Field(
        None, description="how often each domain is trained on; null: each pair once an epoch"
    )
    accumulate_batches: int = Field(1, gt=0, description="batches whose gradients make one update")
    max_length: int = Field(250, gt=0, description="longer pairs, in BPE pieces, are not trained on")
    learning_rate: float = Field(5e-4, gt=0, description="the peak, reached after the warm-up")
    schedule: Literal["inverse_sqrt", "polynomial", "constant"] = Field(
        "inverse_sqrt",
        description="after the warm-up: falls as 1 / sqrt(update), (polynomial) falls linearly to 0 at max_updates, or "
        "(constant) stays at the peak until the last `decay_updates`",
    )
    decay_updates: int | None = Field(
        None, gt=0, description="with schedule: constant, the updates at the end in which it falls linearly to 0"
    )
    warmup_updates: int = Field(4000, ge=0, description="updates in which the learning rate rises linearly")
    warmup_init_learning_rate: float = Field(1e-7, ge=0, description="where the warm-up begins")
    min_learning_rate: float = Field(1e-9, ge=0, description="the schedule never falls below it")
    adam_betas: tuple[Beta, Beta] = Field(
        (0.9, 0.98), description="decay rates of the running means of gradients and of their squares"
    )
    adam_eps: float = Field(1e-8, gt=0, description="added to the root of the running mean of squares")
    weight_decay: float = Field(1e-4, ge=0, description="decoupled: subtracts learning rate x decay x weight")
    clip_norm: float = Field(25.0, ge=0, description="0: no clipping")
    precision: Literal["auto", "fp32", "bf16"] = Field("auto", description="auto: bf16 where the device has it")
    kernels: Literal["auto", "plain", "cpu"] = Field(
        "auto",
        description="cpu: kernels made for CPUs; plain: torch's operators, on any device; auto: by device",
    )
    layout: Literal["auto", "padded", "packed"] = Field(
        "auto",
        description="of training batches; packed: sentences one after the other, in few shapes; auto: packed on a GPU, "
        "if the method allows it",
    )
    compile: CompileOption = Field(
        "off", description="torch.compile of training; reduce-overhead: with CUDA graphs on a GPU"
    )
    validate_every: int = Field(1000, gt=0, description="updates between validations; each leaves a checkpoint")
    validate_every_epochs: float | None = Field(
        None, gt=0, description="in place of validate_every: epochs between validations"
    )
    validation_metric: Literal["loss", "bleu"] = Field("loss", description="what `best` and `patience` look at")
    validation_bleu_sentences: int = Field(200, ge=0, description="per domain, greedily decoded; 0: no BLEU")
    training_sample_sentences: int = Field(
        500, ge=0, description="per domain, always the same: for accuracy and loss on training text; 0: none"
    )
    patience: int = Field(0, ge=0, description="the run ends after so many validations without improvement; 0: never")
    average_checkpoints: int = Field(10, ge=0, description="validations whose checkpoints are averaged; 0: no average")
    final_weights: Literal["average", "best"] = Field(
        "average", description="which are scored: the average of the last n, or the best by validation"
    )
    log_every: int = Field(100, gt=0, description="updates between two training lines of metrics.jsonl")

    @model_validator(mode="after")
    def _decays_within_the_run(self) -> Self:
        if self.decay_updates is not None and self.schedule != "constant":
            raise ValueError("decay_updates is only for `schedule: constant`")
        if self.decay_updates is not None and self.max_epochs is None and self.decay_updates > self.max_updates:
            raise ValueError(f"decay_updates ({self.decay_updates}) is above max_updates ({self.max_updates})")
        return self

    @model_validator(mode="after")
    def _not_both(self) -> Self:
        for usual, other in ALTERNATIVES:
            given = getattr(self, usual) != type(self).model_fields[usual].default
            if given and getattr(self, other) is not None:
                raise ValueError(f"expected one of {usual} and {other}, found both")
        return self


def merge_recipes(layers: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Merge layers of recipe options; later layers override earlier ones.

    A layer that sets one of a pair in `ALTERNATIVES` also removes the other from the layers beneath it.
    """
    found: dict[str, Any] = {}
    for layer in layers:
        for pair in ALTERNATIVES:
            if any(layer.get(key) is not None for key in pair):
                found = {key: value for key, value in found.items() if key not in pair}
        found |= layer
    return found
