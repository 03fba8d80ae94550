"""Check whether a model can be built, and can start from the weights of another.

PyTorch is imported only for what options alone do not tell: the code of a plug-in, and the shapes of two models.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mdnmt.config.architectures import ARCHITECTURES
from mdnmt.config.architectures.architecture import Architecture, VocabSizes, with_size
from mdnmt.errors import CheckpointError, ConfigError
from mdnmt.fingerprint import canonical_json
from mdnmt.methods import build, code_of, validate
from mdnmt.studies import model_facts

if TYPE_CHECKING:
    from mdnmt.methods.method import Method

_VOCAB_SIZE = 16  # the true size is not known yet, and does not affect the checks
# Options in which a model must agree with the one that it starts from, besides the shapes of its tensors.
_ALIKE = ("num_heads", "norm", "share_embeddings", "first_position")


@dataclass(frozen=True)
class Model:
    """What a model is built from.

    Attributes:
        builder: a module of mdnmt.methods.
        options: its architecture as canonical JSON, so that equal models compare equal.
        num_domains: of the task.
        joint: the task has one vocabulary for both languages.
    """

    builder: str
    options: str
    num_domains: int
    joint: bool

    @classmethod
    def of(cls, builder: str, architecture: dict[str, Any], num_domains: int, *, joint: bool) -> Model:
        """Return the model of a complete architecture."""
        return cls(builder, canonical_json(architecture), num_domains, joint)

    @property
    def architecture(self) -> Architecture:
        """Return the architecture."""
        return validate(self.builder, json.loads(self.options), where=self.builder)


@cache
def check_built(model: Model) -> None:
    """Raise an error if the model cannot be built.

    Raises:
        ConfigError: the options do not fit the number of domains or the vocabularies.
    """
    if model.builder not in ARCHITECTURES:
        _build(model)
    with_size(model.architecture, model.num_domains).require_task(model.num_domains, joint=model.joint)


@cache
def check_started(model: Model, start: Model, start_name: str) -> None:
    """Raise an error if the model cannot start from the final weights of another one.

    Raises:
        ConfigError: a tensor of the other model has no place in it, or an option that shapes do not show differs.
    """
    code = [code_of(one.builder, json.loads(one.options)) for one in (model, start)]  # that of plug-ins
    fact = model_facts.key_of(__name__, model, start, *code)
    # A method of a plug-in may build on any module of mdnmt; the key has the code of mdnmt's models alone.
    own = {model.builder, start.builder} <= set(ARCHITECTURES)
    if own and fact in model_facts.known():
        return
    from mdnmt.train.initialise import InitialWeights, initialise

    here, there = (with_size(one.architecture, one.num_domains) for one in (model, start))
    for key in _ALIKE:
        if (mine := getattr(here, key)) != (other := getattr(there, key)):
            raise ConfigError(f"starts from {start_name}: {key} is {other} there, but {mine} here")
    method, weights = _build(model), _build(start).model.state_dict()
    try:
        initialise(method.model, InitialWeights(Path(start_name), "", weights))
    except CheckpointError as error:
        raise ConfigError(f"starts from {error}") from None
    if own:
        model_facts.learn(fact, ())


def _build(model: Model) -> Method:
    from mdnmt.methods.meta_device import on_meta_device

    vocab = VocabSizes(_VOCAB_SIZE, _VOCAB_SIZE, model.joint)
    with on_meta_device():
        return build(model.builder, model.architecture, vocab, model.num_domains)
