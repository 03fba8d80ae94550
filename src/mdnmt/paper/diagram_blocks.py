"""What a part of a model is, in words, and whether the plain Transformer has it: read from the module itself."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import nn

from mdnmt.models.attention import CrossAttention, SelfAttention
from mdnmt.models.domain_attention import DomainAttention, DomainAwareProjection
from mdnmt.models.domain_tag import DomainTag
from mdnmt.models.experts import DomainExperts, ExpertProjection
from mdnmt.models.feed_forward import FeedForward
from mdnmt.models.gate import Gate
from mdnmt.models.latent_depth import BlockChoice, LatentResidual, SharedOrPrivateLinear
from mdnmt.models.naive_mixing import HiddenLinears, LearnedPositions, NaiveFeedForward, NaiveProjection
from mdnmt.models.projection import Linear, MixedLinear
from mdnmt.models.proportion import DomainProportion
from mdnmt.models.residual import Residual
from mdnmt.models.sentence_classifier import SentenceClassifier
from mdnmt.models.word_contexts import WordDomainContexts
from mdnmt.models.word_weights import WordWeights
from mdnmt.paper.diagram_links import first_sentence
from mdnmt.paper.diagram_parts import Block, Status

GRADIENTS = {
    "detach": "no gradient goes back through it",
    "pass": "its gradient goes back as it is",
    "reverse": "its gradient goes back reversed",
    "half": "its gradient goes back reversed for half of the features",
}


def attention(title: str, module: nn.Module, name: str) -> Block:
    """Return an attention, described by its maps."""
    if isinstance(module, SelfAttention):
        return _maps(title, name, {"q, k, v": module.qkv, "output": module.out})
    if isinstance(module, CrossAttention):
        return _maps(title, name, {"q": module.query, "k, v": module.key_value, "output": module.out})
    return unknown(title, module, name, "exchanged")


def feed_forward(module: nn.Module, name: str) -> Block:
    """Return what stands in place of the feed-forward block."""
    title = "Feed-forward"
    if isinstance(module, FeedForward):
        return _maps(title, name, {"inner": module.first, "outer": module.second})
    if isinstance(module, DomainExperts):
        reads = "the gate reads e"
        if module.fuse is not None:
            reads = f"gate and experts read {'x + e' if module.fuse is torch.add else 'a map of [x; e]'}"
        lines: tuple[str, ...] = (
            _experts(module.experts.num_experts, module.gate),
            f"{reads}, e the gold domain's vector",
        )
        return Block("Experts", lines, "exchanged", name)
    if isinstance(module, NaiveFeedForward):
        lines = (f"{module.num_domains} blocks, mixed by D(x) of its own behind them", *_hidden(module))
        return Block(title, lines, "exchanged", name)
    return unknown(title, module, name, "exchanged")


def conditioner(module: nn.Module, name: str, of: str) -> Block:
    """Return what gives a layer its domain proportions."""
    if not isinstance(module, DomainProportion):
        return unknown("Conditioner", module, name, "added")
    domains = module.classifier.out_features
    lines = [f"{domains} shares of each word, from {of}, smoothed by {module.smoothing:g}"]
    if module.input_link != "detach":
        lines.append(GRADIENTS[module.input_link])
    if module.weight_link_open:
        lines.append("the maps that it mixes train it")
    if not list(module.parameters()):
        lines.append("keeps its first values: no parameter")
    return Block("Domain proportion D(x)", tuple(lines), "added", name)


def domain_network(network: DomainAttention, name: str, sharing: str) -> Block:
    """Return the domain attention network of Zhang et al. (2021, Fig. 3)."""
    lines = (f"each word attends to {network.vectors.size(0)} domain vectors; z is their mix", sharing)
    return Block("Domain attention", lines, "added", name)


def beside(module: nn.Module, name: str) -> Block:
    """Return a part that stands beside the layers: tag, bridge, classifier, choice of sub-layers."""
    if isinstance(module, DomainTag):
        where = "before the first" if module.position == "first" else "behind the last"
        return Block("Domain tag", (f"a vector of the gold domain, {where} word",), "added", name)
    if isinstance(module, WordDomainContexts):
        strength = f"{module.shared.reversal:g}"
        lines: tuple[str, ...] = (
            "two gates on each word, domain-specific and shared; both joined by one map",
            f"shared: the gradient of its classifier goes back times -{strength}",
        )
        return Block("Domain contexts", lines, "added", name)
    if isinstance(module, SentenceClassifier):
        lines = ("of sentences: attention pooling and a perceptron; training alone", GRADIENTS[module.gradient])
        return Block("Domain classifier", lines, "added", name)
    if isinstance(module, WordWeights):
        lines = ("of target sentences, training alone; its attention weighs the words of the loss",)
        return Block("Word weights", (*lines, GRADIENTS["detach"]), "added", name)
    if isinstance(module, BlockChoice):
        domains, blocks = module.logits.shape
        what = "uses or skips" if module.may_skip else "shares with others or has of its own"
        lines = (f"which of {blocks} sub-layers each of {domains} domains {what}: z, by the gold domain",)
        return Block("Choice of sub-layers", lines, "added", name)
    return unknown(type(module).__name__, module, name, "added")


def residual(module: nn.Module) -> tuple[str, Status]:
    """Return how a block is wrapped: residual connection and layer norm."""
    if isinstance(module, Residual | LatentResidual):
        z = "z " if isinstance(module, LatentResidual) else ""
        inside = "F(norm(x))" if module.norm_order == "pre" else "F(x)"
        text = f"x + {z}{inside}" if module.norm_order == "pre" else f"norm(x + {z}{inside})"
        return text, "exchanged" if z else "plain"
    return first_sentence(module) or type(module).__name__, "exchanged"


def positions(embedding: nn.Module) -> tuple[str, Status]:
    """Return how an embedding tells positions."""
    learned = isinstance(embedding, LearnedPositions)
    return ("and learned positions", "exchanged") if learned else ("and sinusoidal positions", "plain")


def unknown(title: str, module: nn.Module, name: str, status: Status) -> Block:
    """Return a part of a kind that is not known here, as its own class describes it."""
    return Block(title, (f"{type(module).__name__}: {first_sentence(module)}",), status, name)


def _maps(title: str, name: str, maps: dict[str, nn.Module]) -> Block:
    """Return a block of linear maps, those of one kind named together."""
    status: Status = "plain" if all(isinstance(module, Linear) for module in maps.values()) else "exchanged"
    first = next(iter(maps.values()))
    if isinstance(first, ExpertProjection) and first.query_key is not None:
        maps = {"v": first, "q, k": first.query_key, "output": maps["output"]}
    kinds: dict[tuple[str, ...], list[str]] = {}
    for what, module in maps.items():
        kinds.setdefault(_map(module), []).append(what)
    lines = [line for kind, names in kinds.items() for line in _line(", ".join(names), kind)]
    return Block(title, tuple(lines), status, name)


def _line(names: str, kind: tuple[str, ...]) -> Iterator[str]:
    yield f"{names}: {kind[0]}"
    yield from kind[1:]


def _map(module: nn.Module) -> tuple[str, ...]:
    """Return what a linear map is, in one line or more."""
    if isinstance(module, Linear):
        return ("one map each",)
    if isinstance(module, MixedLinear):
        return (f"{module.num_domains} maps each, one a domain, mixed by D(x)",)
    if isinstance(module, DomainAwareProjection):
        return ("one map each, to k and v + z W_z",)
    if isinstance(module, ExpertProjection):
        return (_experts(module.experts[0].num_experts, module.gate),)  # type: ignore[arg-type]
    if isinstance(module, SharedOrPrivateLinear):
        return (f"a shared map or one of {module.maps.num_domains - 1} domains' own, by z",)
    if isinstance(module, NaiveProjection):
        k = module.num_domains
        return (f"{k} maps each, mixed by D(x) of its own, divided by {k}", *_hidden(module))
    return (f"{type(module).__name__}: {first_sentence(module)}",)


def _experts(number: int, gate: Gate) -> str:
    chosen = f"the best {gate.top_k} by a gate" if gate.top_k is not None else "all, weighed by a gate"
    form = "of two layers" if gate.hidden is not None else "of one map"
    return f"{number} experts, {chosen} {form}"


def _hidden(module: nn.Module) -> tuple[str, ...]:
    """Return a warning where maps stand in plain lists, so that they are no parameters of the model."""
    lists = [inner for inner in module.modules() if isinstance(inner, HiddenLinears)]
    return ("the maps are no parameters: never trained, never saved",) if lists else ()
