"""Count a model's parameters and operations per token, from a model on the meta device.

The counts are kept (`mdnmt.studies.model_facts`), so that the next plan need not import PyTorch.
"""

from __future__ import annotations

import json
from dataclasses import astuple, dataclass, fields
from functools import cache
from typing import TYPE_CHECKING, Any

from mdnmt.config.architectures import ARCHITECTURES
from mdnmt.config.architectures.architecture import VocabSizes
from mdnmt.config.training import Training
from mdnmt.fingerprint import canonical_json
from mdnmt.methods import build, code_of, pretrained, validate
from mdnmt.studies import model_facts

if TYPE_CHECKING:
    from torch import nn

    from mdnmt.models.transformer import Transformer

# Per weight and token: a multiplication and an addition, once forward and twice backward (for weights and inputs).
OPERATIONS_FORWARD, OPERATIONS_TRAINING = 2, 6
# Share of a batch that is not padding.
FILLED = 0.95
# Assumed tokens per sentence, where no statistics are used.
TOKENS_PER_SENTENCE = 30


@dataclass(frozen=True)
class Work:
    """The size of a model and the operations that it computes.

    Attributes:
        parameters: number of parameters; tied ones count once.
        source: multiplications of the forward pass for one source token.
        target: likewise for one target token.
    """

    parameters: int
    source: int
    target: int

    def of_update(self, training: Training) -> float:
        """Return the operations of an update, assuming sides of equal length."""
        words = tokens_of_batch(training) * training.accumulate_batches
        return OPERATIONS_TRAINING * words * (self.source + self.target)

    def of_translation(self, words: float, beam_size: int) -> float:
        """Return the operations of beam search for this many source tokens."""
        return OPERATIONS_FORWARD * words * (self.source + beam_size * self.target)


def tokens_of_batch(training: Training) -> float:
    """Return roughly how many tokens a batch has on one side, without padding."""
    if training.batch_sentences is not None:
        return float(training.batch_sentences * TOKENS_PER_SENTENCE)
    return FILLED * training.max_tokens


def work_of(builder: str, architecture: dict[str, Any], num_domains: int, vocab: VocabSizes) -> Work:
    """Return the work of a complete architecture.

    Raises:
        ConfigError: the builder or an option is unknown, for example in a record of another version.
    """
    if (module := pretrained(builder)) is not None:
        return Work(*module.work(architecture))
    return _work(builder, canonical_json(architecture), num_domains, vocab)


@cache
def _work(builder: str, options: str, num_domains: int, vocab: VocabSizes) -> Work:
    if builder not in ARCHITECTURES:
        return _counted(builder, options, num_domains, vocab)
    known = model_facts.known()
    code = code_of(builder, json.loads(options))  # that of plug-ins
    key = model_facts.key_of(__name__, builder, options, num_domains, vocab, code)
    if len(known.get(key, ())) != len(fields(Work)):
        model_facts.learn(key, astuple(_counted(builder, options, num_domains, vocab)))
    return Work(*known[key])


def _counted(builder: str, options: str, num_domains: int, vocab: VocabSizes) -> Work:
    from mdnmt.methods.meta_device import on_meta_device

    architecture = validate(builder, json.loads(options), where=builder)
    with on_meta_device():
        model = build(builder, architecture, vocab, num_domains).model
    return Work(sum(parameter.numel() for parameter in model.parameters()), *_multiplications(model))


def _multiplications(model: Transformer) -> tuple[int, int]:
    """Return the multiplications for one source token and for one target token.

    The decoder's keys and values of the source count for the source, as does a classifier of the encoder's states. A
    classifier of the decoder's states counts for the target.
    """
    reads_source: list[nn.Module | None] = [model.decoder.memory_conditioner]
    reads_source += [layer.cross_attention.key_value for layer in model.decoder.layers]  # type: ignore[union-attr,misc]
    memory = sum(map(_size, reads_source))
    beside = {side: _size(module) for side, module in model.classifiers.items()}
    source = _size(model.encoder) + _size(model.bridge) + memory + beside.get("encoder", 0)
    target = _size(model.decoder) - memory + beside.get("decoder", 0)
    return source, target + model.output_weight.numel()


def _size(module: nn.Module | None) -> int:
    """Return the multiplications for one token: the elements of a module's matrices, also of modules in plain lists."""
    from torch import nn

    if module is None:
        return 0
    found = {id(parameter): parameter for parameter in module.parameters()}
    for inner in module.modules():
        lists = (value for value in vars(inner).values() if isinstance(value, list))
        hidden = (one for value in lists for one in value if isinstance(one, nn.Module))
        found |= {id(parameter): parameter for one in hidden for parameter in one.parameters()}
    return sum(parameter.numel() for parameter in found.values() if parameter.dim() > 1)
