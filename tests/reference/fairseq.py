"""fairseq's Transformer and WALDM's released code as a slow reference: one sentence pair, float64.

Written from what fairseq 0.6 to 0.12 documents and does, on its own parameter names and numbers of pieces: <s>, <pad>,
</s>, <unk>, then the dictionary's lines. It imports nothing of mdnmt.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

Weights = dict[str, Tensor]
PAD, EOS = 1, 2


@dataclass(frozen=True)
class Shape:
    """What parameters alone do not tell; `num_domains` 0: a plain Transformer."""

    num_heads: int
    layers: tuple[int, int]
    pre_norm: bool
    num_domains: int = 0
    mixed: tuple[str, ...] = ()
    smoothing: float = 0.05


@dataclass
class States:
    """The output of every layer of both sides, and the logits [T, V]; proportions [T, K] as they mix."""

    encoder: list[Tensor] = field(default_factory=list)
    decoder: list[Tensor] = field(default_factory=list)
    proportions: list[Tensor] = field(default_factory=list)
    logits: Tensor = field(default_factory=lambda: torch.empty(0))


def linear(weights: Weights, name: str, x_D: Tensor) -> Tensor:
    return weights[f"{name}.weight"] @ x_D + weights[f"{name}.bias"]


def mixed_linear(weights: Weights, name: str, x_D: Tensor, p_K: Tensor | None) -> Tensor:
    """Return a feed-forward map; a mixed one has the outputs of K domains side by side, output by output."""
    y = linear(weights, name, x_D)
    if p_K is None:
        return y
    return torch.stack([sum(p_K[j] * y[o * len(p_K) + j] for j in range(len(p_K))) for o in range(len(y) // len(p_K))])


def part(weights: Weights, name: str, which: int, x_D: Tensor, p_K: Tensor | None) -> Tensor:
    """Return the query (0), key (1) or value (2) of one word."""
    dim = len(x_D)
    rows = slice(which * dim, (which + 1) * dim)
    if p_K is not None:  # a block [3 D, D] a domain
        y = torch.zeros(dim)
        for j in range(len(p_K)):
            block, bias = (weights[f"{name}.submodel.{j}.in_proj_{kind}"] for kind in ("weight", "bias"))
            y = y + p_K[j] * (block[rows] @ x_D + bias[rows])
        return y
    if f"{name}.in_proj_weight" in weights:
        return weights[f"{name}.in_proj_weight"][rows] @ x_D + weights[f"{name}.in_proj_bias"][rows]
    return linear(weights, f"{name}.{'qkv'[which]}_proj", x_D)


def attention_output(weights: Weights, name: str, x_D: Tensor) -> Tensor:
    """Return the output projection, which the domains share; a mixed attention holds its parameters directly."""
    if f"{name}.out_proj_weight" in weights:
        return weights[f"{name}.out_proj_weight"] @ x_D + weights[f"{name}.out_proj_bias"]
    return linear(weights, f"{name}.out_proj", x_D)


def attention(
    weights: Weights,
    name: str,
    xs: Sequence[Tensor],
    memory: Sequence[Tensor],
    shape: Shape,
    ps: Sequence[Tensor | None],
    memory_ps: Sequence[Tensor | None],
    *,
    causal: bool,
) -> list[Tensor]:
    width = len(xs[0]) // shape.num_heads
    keys = [part(weights, name, 1, x, p) for x, p in zip(memory, memory_ps, strict=True)]
    values = [part(weights, name, 2, x, p) for x, p in zip(memory, memory_ps, strict=True)]
    found = []
    for t, (x, p) in enumerate(zip(xs, ps, strict=True)):
        query = part(weights, name, 0, x, p) / math.sqrt(width)
        seen = t + 1 if causal else len(memory)
        heads = []
        for head in range(shape.num_heads):
            cut = slice(head * width, (head + 1) * width)
            scores = torch.stack([query[cut] @ key[cut] for key in keys[:seen]]).exp()
            heads.append(sum(s * v[cut] for s, v in zip(scores / scores.sum(), values[:seen], strict=True)))
        found.append(attention_output(weights, name, torch.cat(heads)))
    return found


def norm(weights: Weights, names: Sequence[str], x_D: Tensor) -> Tensor:
    name = next(name for name in names if f"{name}.weight" in weights)
    centred = x_D - x_D.mean()
    return centred / (centred.pow(2).mean() + 1e-5).sqrt() * weights[f"{name}.weight"] + weights[f"{name}.bias"]


def sublayer(
    weights: Weights,
    names: Sequence[str],
    xs: list[Tensor],
    block: Callable[[list[Tensor]], list[Tensor]],
    shape: Shape,
) -> list[Tensor]:
    if shape.pre_norm:
        return [x + y for x, y in zip(xs, block([norm(weights, names, x) for x in xs]), strict=True)]
    return [norm(weights, names, x + y) for x, y in zip(xs, block(xs), strict=True)]


def embed(weights: Weights, side: str, ids: Sequence[int]) -> list[Tensor]:
    table = weights[f"{side}.embed_tokens.weight"]
    dim = table.shape[1]
    half = dim // 2
    found = []
    for t, number in enumerate(ids):
        position = PAD + 1 + t  # padding keeps a position of its own, and words follow it
        rates = [math.exp(-math.log(10000) * i / (half - 1)) for i in range(half)]
        sinusoid = [math.sin(position * rate) for rate in rates] + [math.cos(position * rate) for rate in rates]
        found.append(math.sqrt(dim) * table[number] + torch.tensor(sinusoid, dtype=torch.float64))
    return found


def proportion(weights: Weights, name: str, x_D: Tensor, shape: Shape) -> Tensor:
    logits = linear(weights, f"{name}.main.0", x_D)
    if shape.num_domains == 2:  # one logit, of label 1, and the pair (P(label 1), P(label 0))
        p = 1 / (1 + torch.exp(-logits[0]))
        raw = torch.stack([p, 1 - p])
    else:
        raw = logits.exp() / logits.exp().sum()
    return (1 - shape.smoothing) * raw + shape.smoothing / shape.num_domains


def feed_forward(weights: Weights, base: str, hs: list[Tensor], ps: Sequence[Tensor | None]) -> list[Tensor]:
    found = []
    for h, p in zip(hs, ps, strict=True):
        hidden = mixed_linear(weights, f"{base}.fc1", h, p).clamp(min=0)
        found.append(mixed_linear(weights, f"{base}.fc2", hidden, p))
    return found


def side_of(
    weights: Weights, side: str, ids: Sequence[int], memory: list[Tensor], shape: Shape, states: States
) -> list[Tensor]:
    """Return the last states of the encoder (`memory` empty) or the decoder, recording those of every layer."""
    is_decoder, mixes = side == "decoder", side in shape.mixed
    xs = embed(weights, side, ids)
    memory_ps: Sequence[Tensor | None] = [None] * len(memory)
    if is_decoder and mixes:
        memory_ps = [proportion(weights, "decoder.encoder_out_cls", x, shape) for x in memory]
    for number in range(shape.layers[is_decoder]):
        base = f"{side}.layers.{number}"
        ps: Sequence[Tensor | None] = [None] * len(xs)
        if mixes:  # of the layer's own input, before any norm
            ps = [proportion(weights, f"{side}.layers_cls.{number}", x, shape) for x in xs]
            states.proportions.append(torch.stack(ps))  # type: ignore[arg-type]

        def attend(hs: list[Tensor], base: str = base, ps: Sequence[Tensor | None] = ps) -> list[Tensor]:
            return attention(weights, f"{base}.self_attn", hs, hs, shape, ps, ps, causal=is_decoder)

        def cross(hs: list[Tensor], base: str = base, ps: Sequence[Tensor | None] = ps) -> list[Tensor]:
            return attention(weights, f"{base}.encoder_attn", hs, memory, shape, ps, memory_ps, causal=False)

        def ffn(hs: list[Tensor], base: str = base, ps: Sequence[Tensor | None] = ps) -> list[Tensor]:
            return feed_forward(weights, base, hs, ps)

        blocks = [("self_attn_layer_norm", attend), ("encoder_attn_layer_norm", cross), ("final_layer_norm", ffn)]
        if not is_decoder:
            del blocks[1]
        for place, (name, block) in enumerate(blocks):
            xs = sublayer(weights, [f"{base}.{name}", f"{base}.layer_norms.{place}"], xs, block, shape)
        (states.decoder if is_decoder else states.encoder).append(torch.stack(xs))
    return [norm(weights, [f"{side}.layer_norm"], x) for x in xs] if shape.pre_norm else xs


def run(weights: Weights, source: Sequence[int], target: Sequence[int], shape: Shape) -> States:
    """Return everything for a source that ends with </s> and the target pieces behind fairseq's first </s>."""
    states = States()
    memory = side_of(weights, "encoder", source, [], shape, states)
    ys = side_of(weights, "decoder", [EOS, *target], memory, shape, states)
    names = ("decoder.output_projection.weight", "decoder.embed_out", "decoder.embed_tokens.weight")
    output = next(weights[name] for name in names if name in weights)
    states.logits = torch.stack([output @ y for y in ys])
    return states
