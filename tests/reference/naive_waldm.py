"""The re-implementation of WALDM (Phan 2022), mistakes included, as a slow reference: loops over words and domains."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from reference.transformer import (
    Shape,
    Vectors,
    Weights,
    attend,
    layer_norm,
    output,
    project,
    residual,
    softmax,
)
from reference.transformer import cross_attention as plain_cross_attention
from reference.transformer import feed_forward as plain_feed_forward
from reference.transformer import self_attention as plain_self_attention
from torch import Tensor


@dataclass
class Mixing:
    """Number of domains, eps, whether the decoder mixes; and D of each word that enters the loss, layer by layer."""

    k: int
    smoothing: float
    both_sides: bool
    layers: list[Vectors] = field(default_factory=list)


def proportions(weights: Weights, name: str, xs: Vectors, mixing: Mixing, *, in_loss: bool) -> Vectors:
    ds = []
    for x in xs:
        shares = softmax(list(project(weights, f"{name}.classifier", x)))
        # D(x) = (1 - eps) softmax(R x) + eps / k
        ds.append(torch.stack([(1.0 - mixing.smoothing) * share + mixing.smoothing / mixing.k for share in shares]))
    if in_loss:
        mixing.layers.append(ds)
    return ds


def mixed(weights: Weights, name: str, part: int, xs: Vectors, mixing: Mixing, *, in_loss: bool) -> Vectors:
    # Queries, keys and values have an R each.
    ds = proportions(weights, f"{name}.proportions.{part}", xs, mixing, in_loss=in_loss)
    ys = []
    for x, d in zip(xs, ds, strict=True):
        total = sum(d[j] * project(weights, f"{name}.maps.{part}.linears.{j}", x) for j in range(mixing.k))
        ys.append(total / mixing.k)  # divided by k once more
    return ys


def self_attention(
    weights: Weights, name: str, hs: Vectors, num_heads: int, mixing: Mixing, *, causal: bool, in_loss: bool
) -> Vectors:
    queries = mixed(weights, f"{name}.qkv", 0, hs, mixing, in_loss=in_loss)  # D of Q alone is in the loss
    keys = mixed(weights, f"{name}.qkv", 1, hs, mixing, in_loss=False)
    values = mixed(weights, f"{name}.qkv", 2, hs, mixing, in_loss=False)
    ys = []
    for t, q in enumerate(queries):
        seen = t + 1 if causal else len(hs)
        ys.append(project(weights, f"{name}.out", attend(q, keys[:seen], values[:seen], num_heads)))
    return ys


def cross_attention(
    weights: Weights, name: str, hs: Vectors, memory: Vectors, num_heads: int, mixing: Mixing
) -> Vectors:
    queries = mixed(weights, f"{name}.query", 0, hs, mixing, in_loss=True)
    keys = mixed(weights, f"{name}.key_value", 0, memory, mixing, in_loss=False)
    values = mixed(weights, f"{name}.key_value", 1, memory, mixing, in_loss=False)
    return [project(weights, f"{name}.out", attend(q, keys, values, num_heads)) for q in queries]


def feed_forward(weights: Weights, name: str, hs: Vectors, mixing: Mixing, *, in_loss: bool) -> Vectors:
    ds = proportions(weights, f"{name}.proportion", hs, mixing, in_loss=in_loss)
    ys = []
    for h, d in zip(hs, ds, strict=True):
        y = torch.zeros_like(h)
        for j in range(mixing.k):
            hidden = torch.clamp(project(weights, f"{name}.first.linears.{j}", h), min=0.0)
            y = y + d[j] * project(weights, f"{name}.second.linears.{j}", hidden)  # sum_j D_j FFN_j(x)
        ys.append(y)
    return ys


def embed(weights: Weights, name: str, ids: Sequence[int]) -> Vectors:
    table, positions = weights[f"{name}.weight"], weights[f"{name}.position_embedding.weight"]
    return [math.sqrt(table.shape[1]) * table[word] + positions[t] for t, word in enumerate(ids)]  # learned positions


def logits(weights: Weights, source: Sequence[int], target: Sequence[int], shape: Shape, mixing: Mixing) -> Tensor:
    """Return [T, V]; `target` begins with <s>."""
    heads, norm = shape.num_heads, shape.norm
    lossy_encoder = not mixing.both_sides  # E/DC takes the decoder's D alone into the loss
    xs = embed(weights, "source_embedding", source)
    for layer in range(shape.encoder_layers):
        name = f"encoder.layers.{layer}"

        def attention(hs: Vectors, name: str = f"{name}.attention") -> Vectors:
            return self_attention(weights, name, hs, heads, mixing, causal=False, in_loss=lossy_encoder)

        def ffn(hs: Vectors, name: str = f"{name}.ffn") -> Vectors:
            return feed_forward(weights, name, hs, mixing, in_loss=lossy_encoder)

        xs = residual(weights, f"{name}.attention_residual", norm, xs, attention)
        xs = residual(weights, f"{name}.ffn_residual", norm, xs, ffn)
    memory = [layer_norm(weights, "encoder.norm", x) for x in xs] if norm == "pre" else xs
    xs = embed(weights, "target_embedding", target)
    for layer in range(shape.decoder_layers):
        name = f"decoder.layers.{layer}"

        def masked(hs: Vectors, name: str = f"{name}.self_attention") -> Vectors:
            if not mixing.both_sides:
                return plain_self_attention(weights, name, hs, heads, causal=True)
            return self_attention(weights, name, hs, heads, mixing, causal=True, in_loss=True)

        def cross(hs: Vectors, name: str = f"{name}.cross_attention") -> Vectors:
            if not mixing.both_sides:
                return plain_cross_attention(weights, name, hs, memory, heads)
            return cross_attention(weights, name, hs, memory, heads, mixing)

        def last(hs: Vectors, name: str = f"{name}.ffn") -> Vectors:
            if not mixing.both_sides:
                return plain_feed_forward(weights, name, hs)
            return feed_forward(weights, name, hs, mixing, in_loss=True)

        xs = residual(weights, f"{name}.self_attention_residual", norm, xs, masked)
        xs = residual(weights, f"{name}.cross_attention_residual", norm, xs, cross)
        xs = residual(weights, f"{name}.ffn_residual", norm, xs, last)
    ys = [layer_norm(weights, "decoder.norm", x) for x in xs] if norm == "pre" else xs
    return output(weights, ys)


def proportion_loss(mixings: Sequence[Mixing], labels: Sequence[int]) -> float:
    """Return L_mix of sentences of one length (padding counts): -log D_J summed over words, the mean over layers."""
    total = 0.0
    for mixing, label in zip(mixings, labels, strict=True):
        total += sum(-math.log(d[label].item()) for layer in mixing.layers for d in layer) / len(mixing.layers)
    return total
