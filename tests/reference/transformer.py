"""The Transformer (Vaswani et al. 2017) as a slow reference: one sentence pair, float64, a loop for every sum.

A sentence is a list of vectors [D]. `weights` is a plain dictionary of tensors by name.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

Weights = dict[str, Tensor]
Vectors = list[Tensor]


@dataclass(frozen=True)
class Shape:
    """Sizes that the weights alone do not tell."""

    num_heads: int
    encoder_layers: int
    decoder_layers: int
    norm: str  # "pre" or "post"


def project(weights: Weights, name: str, x_D: Tensor) -> Tensor:
    weight, bias = weights[f"{name}.weight"], weights[f"{name}.bias"]
    y = torch.zeros(weight.shape[0], dtype=torch.float64)
    for row in range(weight.shape[0]):
        y[row] = torch.dot(weight[row], x_D) + bias[row]  # y_i = sum_j W_ij x_j + b_i
    return y


def layer_norm(weights: Weights, name: str, x_D: Tensor) -> Tensor:
    mean = x_D.sum() / len(x_D)  # Ba et al. 2016, eq. 4
    variance = ((x_D - mean) ** 2).sum() / len(x_D)
    return (x_D - mean) / torch.sqrt(variance + 1e-5) * weights[f"{name}.weight"] + weights[f"{name}.bias"]


def position(t: int, model_dim: int) -> Tensor:
    half = model_dim // 2
    vector = torch.zeros(model_dim, dtype=torch.float64)
    for i in range(half):
        rate = 10000.0 ** (-i / (half - 1))  # sec. 3.5, with the rates from 1 to 1/10000 inclusive
        vector[i] = math.sin(t * rate)
        vector[half + i] = math.cos(t * rate)
    return vector


def embed(weights: Weights, name: str, ids: Sequence[int]) -> Vectors:
    table = weights[f"{name}.weight"]
    dim = table.shape[1]
    return [math.sqrt(dim) * table[word] + position(t, dim) for t, word in enumerate(ids)]  # sec. 3.4


def softmax(scores: Sequence[Tensor]) -> Vectors:
    highest = max(score.item() for score in scores)
    powers = [torch.exp(score - highest) for score in scores]
    total = sum(power.item() for power in powers)
    return [power / total for power in powers]


def attend(q_D: Tensor, keys: Vectors, values: Vectors, num_heads: int) -> Tensor:
    width = len(q_D) // num_heads
    heads = []
    for head in range(num_heads):
        part = slice(head * width, (head + 1) * width)
        scores = [torch.dot(q_D[part], key[part]) / math.sqrt(width) for key in keys]  # eq. 1: Q K^T / sqrt(d_k)
        attention = softmax(scores)
        y = torch.zeros(width, dtype=torch.float64)
        for a, value in zip(attention, values, strict=True):
            y = y + a * value[part]  # eq. 1: softmax(...) V
        heads.append(y)
    return torch.cat(heads)  # sec. 3.2.2: Concat(head_1, ..., head_h)


def residual(weights: Weights, name: str, norm: str, xs: Vectors, block: Callable[[Vectors], Vectors]) -> Vectors:
    if norm == "pre":
        normed = [layer_norm(weights, f"{name}.norm", x) for x in xs]
        return [x + y for x, y in zip(xs, block(normed), strict=True)]  # x + block(LayerNorm(x))
    added = [x + y for x, y in zip(xs, block(xs), strict=True)]
    return [layer_norm(weights, f"{name}.norm", x) for x in added]  # LayerNorm(x + block(x)), sec. 3.1


def thirds(vector: Tensor, parts: int) -> list[Tensor]:
    width = len(vector) // parts
    return [vector[part * width : (part + 1) * width] for part in range(parts)]


def self_attention(weights: Weights, name: str, xs: Vectors, num_heads: int, *, causal: bool) -> Vectors:
    queries, keys, values = [], [], []
    for x in xs:
        q, k, v = thirds(project(weights, f"{name}.qkv", x), 3)
        queries.append(q)
        keys.append(k)
        values.append(v)
    ys = []
    for t, q in enumerate(queries):
        seen = t + 1 if causal else len(xs)  # sec. 3.2.3: a target word sees itself and those before it
        ys.append(project(weights, f"{name}.out", attend(q, keys[:seen], values[:seen], num_heads)))
    return ys


def cross_attention(weights: Weights, name: str, xs: Vectors, memory: Vectors, num_heads: int) -> Vectors:
    pairs = [thirds(project(weights, f"{name}.key_value", e), 2) for e in memory]
    keys, values = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    ys = []
    for x in xs:
        q = project(weights, f"{name}.query", x)
        ys.append(project(weights, f"{name}.out", attend(q, keys, values, num_heads)))
    return ys


def feed_forward(weights: Weights, name: str, xs: Vectors) -> Vectors:
    ys = []
    for x in xs:
        hidden = torch.clamp(project(weights, f"{name}.first", x), min=0.0)  # eq. 2: max(0, x W_1 + b_1)
        ys.append(project(weights, f"{name}.second", hidden))  # eq. 2: ... W_2 + b_2
    return ys


def encoder(weights: Weights, source: Sequence[int], shape: Shape) -> Vectors:
    xs = embed(weights, "source_embedding", source)
    for layer in range(shape.encoder_layers):
        name = f"encoder.layers.{layer}"
        xs = residual(
            weights,
            f"{name}.attention_residual",
            shape.norm,
            xs,
            lambda hs, name=name: self_attention(weights, f"{name}.attention", hs, shape.num_heads, causal=False),
        )
        xs = residual(
            weights,
            f"{name}.ffn_residual",
            shape.norm,
            xs,
            lambda hs, name=name: feed_forward(weights, f"{name}.ffn", hs),
        )
    return [layer_norm(weights, "encoder.norm", x) for x in xs] if shape.norm == "pre" else xs


def decoder(weights: Weights, memory: Vectors, target: Sequence[int], shape: Shape) -> Vectors:
    xs = embed(weights, "target_embedding", target)
    for layer in range(shape.decoder_layers):
        name = f"decoder.layers.{layer}"
        xs = residual(
            weights,
            f"{name}.self_attention_residual",
            shape.norm,
            xs,
            lambda hs, name=name: self_attention(weights, f"{name}.self_attention", hs, shape.num_heads, causal=True),
        )
        xs = residual(
            weights,
            f"{name}.cross_attention_residual",
            shape.norm,
            xs,
            lambda hs, name=name: cross_attention(weights, f"{name}.cross_attention", hs, memory, shape.num_heads),
        )
        xs = residual(
            weights,
            f"{name}.ffn_residual",
            shape.norm,
            xs,
            lambda hs, name=name: feed_forward(weights, f"{name}.ffn", hs),
        )
    return [layer_norm(weights, "decoder.norm", x) for x in xs] if shape.norm == "pre" else xs


def output(weights: Weights, ys: Vectors) -> Tensor:
    # sec. 3.4: logits_v = e_v . y, where e_v may be the word's own embedding
    return torch.stack([torch.stack([torch.dot(row, y) for row in weights["output_weight"]]) for y in ys])


def logits(weights: Weights, source: Sequence[int], target: Sequence[int], shape: Shape) -> Tensor:
    """Return [T, V]: the logits of the word after each of the target's prefixes; `target` begins with <s>."""
    return output(weights, decoder(weights, encoder(weights, source, shape), target, shape))
