"""List the blocks of a method's model: plain, exchanged or added, their parameters and the losses that train them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Literal

import torch
from torch import nn

from mdnmt.config.architectures.architecture import with_size
from mdnmt.methods import build, validate
from mdnmt.methods.meta_device import on_meta_device
from mdnmt.methods.method import Architecture, Method, TokenCounts, VocabSizes
from mdnmt.models.batch import Batch

Status = Literal["plain", "exchanged", "added"]

VOCAB, SENTENCES, LENGTH = 12, 4, 5  # of the small model and batch; no number that is shown depends on them
_ORDER = ("conditioner", "attention", "self_attention", "cross_attention", "ffn")
_TITLES = {
    "source_embedding": "Source words",
    "target_embedding": "Target words",
    "attention": "Self-attention",
    "self_attention": "Self-attention",
    "cross_attention": "Cross-attention",
    "ffn": "Feed-forward",
}
# Parts of a model from bottom to top, with the stack in which they are drawn.
_PLACES = (
    ("Encoder", "source_embedding"),
    ("Encoder", "domain_tag"),
    ("Encoder", "block_choice"),
    ("Encoder", "encoder.layers"),
    ("Encoder", "bridge"),
    ("Encoder", "decoder.memory_conditioner"),
    ("Encoder", "classifiers.encoder"),
    ("Decoder", "target_embedding"),
    ("Decoder", "decoder.layers"),
    ("Decoder", "classifiers.decoder"),
)


@dataclass(frozen=True)
class Block:
    """A block of a model, or the blocks of one kind in layers that are alike.

    Attributes:
        stack: "Encoder" or "Decoder".
        title: its name.
        status: compared with the plain Transformer.
        what: what an exchanged or added block is, from the docstrings of its classes.
        module: its module's name in the model; for alike layers, that in the first layer.
        layers: the number of alike layers; 0 outside the layers.
        parameters: in all of these layers, without word embeddings; those shared with an earlier block are not counted.
        losses: the names of the losses that train it.
    """

    stack: str
    title: str
    status: Status
    what: tuple[str, ...]
    module: str
    layers: int
    parameters: int
    losses: tuple[str, ...]


@dataclass(frozen=True)
class Structure:
    """A method's model.

    Attributes:
        sizes: widths, heads, position of the layer norms and number of domains, in words.
        parts: from bottom to top, the encoder first.
        losses: name -> first sentence of its docstring; the generation loss first.
        parameters: of everything except word embeddings and output layer.
        plain: the same for the plain Transformer of these sizes.
        needs_domain: the gold domain is needed to translate.
    """

    sizes: str
    parts: tuple[Block, ...]
    losses: dict[str, str]
    parameters: int
    plain: int
    needs_domain: bool


def structure(builder: str, options: dict[str, Any], num_domains: int) -> Structure:
    """Return the structure of a method, from its model (without memory for its weights) and its losses.

    Args:
        builder: a module of mdnmt.methods.
        options: all options of its architecture.
        num_domains: of the task.

    Raises:
        ConfigError: the builder or an option is not known.
    """
    method = _outline(builder, options, num_domains)
    size = with_size(validate(builder, options, where=builder), num_domains)
    plain = _outline("transformer", {key: options[key] for key in options if key in Architecture.model_fields}, 1)
    losses, trained = trained_by(builder, options, num_domains)
    return Structure(
        sizes=f"width {size.model_dim}, feed-forward {size.ffn_dim}, {size.num_heads} heads, {size.norm}-norm, "
        f"{num_domains} domains",
        parts=tuple(_BlockWalker(method.model, plain.model, trained)),
        losses=losses,
        parameters=_without_words(method.model),
        plain=_without_words(plain.model),
        needs_domain=method.needs_domain,
    )


def _outline(builder: str, options: dict[str, Any], num_domains: int) -> Method:
    architecture = validate(builder, options, where=builder)
    with on_meta_device():
        return build(builder, architecture, VocabSizes(VOCAB, VOCAB, True), num_domains)


def _words(model: Any) -> set[int]:
    return {id(model.source_embedding.weight), id(model.target_embedding.weight), id(model.output_weight)}


def _without_words(model: nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters() if id(parameter) not in _words(model))


def first_sentence(value: object) -> str:
    """Return the first sentence of the docstring of a value's class, without the source in brackets at its end."""
    text = " ".join((type(value).__doc__ or type(value).__name__).split("\n\n")[0].split())
    text = re.split(r"(?<=[a-z)])\. (?=[A-Z])", text)[0].rstrip(".")
    return re.sub(r" \([^()]*(?:\d{4}|eq\.|sec\.)[^()]*\)$", "", text)


class _BlockWalker:
    """Walks a model from bottom to top and yields its parts."""

    def __init__(self, model: nn.Module, plain: nn.Module, trained: dict[str, tuple[str, ...]]) -> None:
        self.modules = dict(model.named_modules())
        self.plain = dict(plain.named_modules())
        self.plain_types = {type(module) for module in plain.modules()}
        self.trained = trained
        self.counted = _words(model)

    def __iter__(self) -> Iterator[Block]:
        for stack, name in _PLACES:
            if name.endswith(".layers"):
                yield from self._layers(stack, name)
            elif name in self.modules:
                yield self._part(stack, name, name in self.plain)
        losses = self.trained.get("output_weight", self.trained.get("target_embedding.weight", ()))
        yield Block("Decoder", "Output layer", "plain", (), "output_weight", 0, 0, losses)

    def _layers(self, stack: str, name: str) -> list[Block]:
        groups: list[list[Block]] = []
        for number, _ in enumerate(self.modules[name].children()):
            found = list(self._layer(stack, f"{name}.{number}"))
            if groups and [_kind(part) for part in groups[-1]] == [_kind(part) for part in found]:
                groups[-1] = [_added(one, other) for one, other in zip(groups[-1], found, strict=True)]
            else:
                groups.append(found)
        return [part for group in groups for part in group]

    def _layer(self, stack: str, name: str) -> Iterator[Block]:
        children = [child for child, _ in self.modules[name].named_children()]
        inner = sorted(
            (child for child in children if not child.endswith("_residual")),
            key=lambda child: _ORDER.index(child) if child in _ORDER else len(_ORDER),
        )
        for child in inner:
            yield self._part(stack, f"{name}.{child}", child != "conditioner", layers=1)
        residual = self._part(stack, f"{name}.ffn_residual", True, layers=1)
        if residual.status != "plain":
            yield replace(residual, title="Residual connections")

    def _part(self, stack: str, name: str, in_plain: bool, layers: int = 0) -> Block:
        module = self.modules[name]
        what = tuple(dict.fromkeys(self._what(module)))
        parameters = {id(one): one.numel() for one in module.parameters() if id(one) not in self.counted}
        self.counted |= parameters.keys()
        losses = dict.fromkeys(
            loss for parameter, found in self.trained.items() if parameter.startswith(f"{name}.") for loss in found
        )
        key = name.rpartition(".")[2]
        title = _TITLES.get(key) or _spaced(type(module).__name__)
        status: Status = ("exchanged" if what else "plain") if in_plain else "added"
        return Block(stack, title, status, what, name, layers, sum(parameters.values()), tuple(losses))

    def _what(self, module: nn.Module) -> Iterator[str]:
        """Yield a sentence for each outermost module of a class that the plain Transformer lacks."""
        if type(module) in self.plain_types:
            for child in module.children():
                yield from self._what(child)
        else:
            yield first_sentence(module)


def _kind(part: Block) -> tuple[Any, ...]:
    return part.title, part.status, part.what, part.losses


def _added(one: Block, other: Block) -> Block:
    return replace(one, layers=one.layers + 1, parameters=one.parameters + other.parameters)


def _spaced(name: str) -> str:
    """Return a class's name as words: DomainTag -> Domain tag."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).capitalize()


def trained_by(
    builder: str, options: dict[str, Any], num_domains: int
) -> tuple[dict[str, str], dict[str, tuple[str, ...]]]:
    """Compute each loss once on a small copy of the model, and return what its gradient reaches.

    Args:
        builder: a module of mdnmt.methods.
        options: all options of its architecture; sizes are replaced by small ones.
        num_domains: of the task.

    Returns:
        (loss -> first sentence of its docstring, name of a parameter -> the losses that train it).
    """
    with torch.random.fork_rng(devices=[]), _one_thread():
        torch.manual_seed(1)
        method = _small(builder, options, num_domains)
        batch = _batch(num_domains)
        method.begin_update(1, 1)
        output = method.model(batch)
        names: dict[nn.Parameter, list[str]] = {}
        for name, parameter in method.model.named_parameters(remove_duplicate=False):
            if parameter.requires_grad:  # no loss trains what is frozen
                names.setdefault(parameter, []).append(name)
        found: dict[str, tuple[str, ...]] = {}
        for loss in method.losses:
            for name in _reached(loss(output, batch), names):
                found[name] = (*found.get(name, ()), loss.name)
    return {loss.name: first_sentence(loss) for loss in method.losses}, found


def _reached(value: torch.Tensor, names: dict[nn.Parameter, list[str]]) -> Iterable[str]:
    if not value.requires_grad:
        return []
    gradients = torch.autograd.grad(value, list(names), allow_unused=True, retain_graph=True)
    return [
        name for of_one, found in zip(names.values(), gradients, strict=True) if found is not None for name in of_one
    ]


@contextmanager
def _one_thread() -> Iterator[None]:
    # With such small matrices several threads would mostly wait for one another.
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _small(builder: str, options: dict[str, Any], num_domains: int) -> Method:
    wide = validate(builder, options, where=builder)
    small: Architecture = wide.model_copy(update={"size": "base", "model_dim": 4 * wide.num_heads, "ffn_dim": 8})
    method = build(builder, small, VocabSizes(VOCAB, VOCAB, True), num_domains)
    if method.prepare is not None:
        counts = torch.ones(num_domains, VOCAB)
        method.prepare(TokenCounts(counts, counts))
    return method


def _batch(num_domains: int) -> Batch:
    words_BT = torch.randint(4, VOCAB, (SENTENCES, LENGTH))
    mask_BT = torch.ones(SENTENCES, LENGTH, dtype=torch.bool)
    return Batch(
        source_BS=words_BT,
        source_mask_BS=mask_BT,
        target_BT=words_BT,
        target_mask_BT=mask_BT,
        label_N=words_BT.flatten(),
        label_index_N=torch.arange(SENTENCES * LENGTH),
        domain_B=torch.arange(SENTENCES) % num_domains,
    )
