"""WALDM (Jiang et al. 2020, sec. 3) as a slow reference: one sentence pair, a loop over words, domains and heads."""

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
    embed,
    layer_norm,
    output,
    project,
    residual,
    softmax,
    thirds,
)
from reference.transformer import decoder as plain_decoder
from torch import Tensor


@dataclass(frozen=True)
class Mixing:
    """What is mixed, and how strongly proportions are smoothed."""

    both_sides: bool
    smoothing: float
    mix_out: bool


@dataclass
class Record:
    """The domain logits R x + r of every word: for each proportion layer a list of [K]."""

    layers: list[Vectors] = field(default_factory=list)


def smooth(u_K: Tensor, smoothing: float) -> Tensor:
    k = len(u_K)
    # sec. 3.1: D(x) = (1 - eps) softmax(R x) + eps / k
    return torch.stack([(1.0 - smoothing) * share + smoothing / k for share in softmax(list(u_K))])


def proportions(weights: Weights, name: str, xs: Vectors, mixing: Mixing, record: Record) -> Vectors:
    raw = [project(weights, f"{name}.classifier", x) for x in xs]
    record.layers.append(raw)
    return [smooth(u, mixing.smoothing) for u in raw]


def domain_matrix(weights: Weights, name: str, domain: int) -> Tensor:
    weight, bias = weights[f"{name}.weight"], weights[f"{name}.bias"]
    # Stored [out, K, in] where the input is the narrower side (or equal), else [K, out, in].
    return weight[:, domain] if weight.shape[2] <= bias.shape[1] else weight[domain]


def mixed(weights: Weights, name: str, x_D: Tensor, p_K: Tensor) -> Tensor:
    bias = weights[f"{name}.bias"]
    y = torch.zeros(bias.shape[1], dtype=torch.float64)
    for j in range(len(p_K)):
        y = y + p_K[j] * (domain_matrix(weights, name, j) @ x_D + bias[j])  # sec. 3.2: sum_j p_j (W_j x + b_j)
    return y


def out(weights: Weights, name: str, x_D: Tensor, p_K: Tensor, mixing: Mixing) -> Tensor:
    return mixed(weights, name, x_D, p_K) if mixing.mix_out else project(weights, name, x_D)


def self_attention(
    weights: Weights, name: str, hs: Vectors, ps: Vectors, num_heads: int, mixing: Mixing, *, causal: bool
) -> Vectors:
    parts = [thirds(mixed(weights, f"{name}.qkv", h, p), 3) for h, p in zip(hs, ps, strict=True)]
    ys = []
    for t in range(len(hs)):
        seen = parts[: t + 1] if causal else parts
        # Keys and values carry the proportions of their own words (sec. 3.2).
        y = attend(parts[t][0], [part[1] for part in seen], [part[2] for part in seen], num_heads)
        ys.append(out(weights, f"{name}.out", y, ps[t], mixing))
    return ys


def cross_attention(
    weights: Weights,
    name: str,
    hs: Vectors,
    ps: Vectors,
    memory: Vectors,
    memory_ps: Vectors,
    num_heads: int,
    mixing: Mixing,
) -> Vectors:
    pairs = [thirds(mixed(weights, f"{name}.key_value", e, p), 2) for e, p in zip(memory, memory_ps, strict=True)]
    ys = []
    for h, p in zip(hs, ps, strict=True):
        q = mixed(weights, f"{name}.query", h, p)
        y = attend(q, [pair[0] for pair in pairs], [pair[1] for pair in pairs], num_heads)
        ys.append(out(weights, f"{name}.out", y, p, mixing))
    return ys


def feed_forward(weights: Weights, name: str, hs: Vectors, ps: Vectors) -> Vectors:
    ys = []
    for h, p in zip(hs, ps, strict=True):
        hidden = torch.clamp(mixed(weights, f"{name}.first", h, p), min=0.0)  # mixed before ReLU ...
        ys.append(mixed(weights, f"{name}.second", hidden, p))  # ... and once more after it
    return ys


def encoder(weights: Weights, source: Sequence[int], shape: Shape, mixing: Mixing, record: Record) -> Vectors:
    xs = embed(weights, "source_embedding", source)
    for layer in range(shape.encoder_layers):
        name = f"encoder.layers.{layer}"
        ps = proportions(weights, f"{name}.conditioner", xs, mixing, record)  # of the layer's input, before any norm

        def attention(hs: Vectors, name: str = name, ps: Vectors = ps) -> Vectors:
            return self_attention(weights, f"{name}.attention", hs, ps, shape.num_heads, mixing, causal=False)

        def ffn(hs: Vectors, name: str = name, ps: Vectors = ps) -> Vectors:
            return feed_forward(weights, f"{name}.ffn", hs, ps)

        xs = residual(weights, f"{name}.attention_residual", shape.norm, xs, attention)
        xs = residual(weights, f"{name}.ffn_residual", shape.norm, xs, ffn)
    return [layer_norm(weights, "encoder.norm", x) for x in xs] if shape.norm == "pre" else xs


def decoder(
    weights: Weights, memory: Vectors, target: Sequence[int], shape: Shape, mixing: Mixing, record: Record
) -> Vectors:
    # One more proportion, of the encoder's output, for the keys and values of all decoder layers.
    memory_ps = proportions(weights, "decoder.memory_conditioner", memory, mixing, record)
    xs = embed(weights, "target_embedding", target)
    for layer in range(shape.decoder_layers):
        name = f"decoder.layers.{layer}"
        ps = proportions(weights, f"{name}.conditioner", xs, mixing, record)

        def attention(hs: Vectors, name: str = name, ps: Vectors = ps) -> Vectors:
            return self_attention(weights, f"{name}.self_attention", hs, ps, shape.num_heads, mixing, causal=True)

        def cross(hs: Vectors, name: str = name, ps: Vectors = ps) -> Vectors:
            block = f"{name}.cross_attention"
            return cross_attention(weights, block, hs, ps, memory, memory_ps, shape.num_heads, mixing)

        def ffn(hs: Vectors, name: str = name, ps: Vectors = ps) -> Vectors:
            return feed_forward(weights, f"{name}.ffn", hs, ps)

        xs = residual(weights, f"{name}.self_attention_residual", shape.norm, xs, attention)
        xs = residual(weights, f"{name}.cross_attention_residual", shape.norm, xs, cross)
        xs = residual(weights, f"{name}.ffn_residual", shape.norm, xs, ffn)
    return [layer_norm(weights, "decoder.norm", x) for x in xs] if shape.norm == "pre" else xs


def states(
    weights: Weights, source: Sequence[int], target: Sequence[int], shape: Shape, mixing: Mixing
) -> tuple[Vectors, Record]:
    """Return the decoder's last states, and the domain logits of every proportion layer."""
    record = Record()
    memory = encoder(weights, source, shape, mixing, record)
    if mixing.both_sides:
        ys = decoder(weights, memory, target, shape, mixing, record)
    else:
        ys = plain_decoder(weights, memory, target, shape)
    return ys, record


def logits(
    weights: Weights, source: Sequence[int], target: Sequence[int], shape: Shape, mixing: Mixing
) -> tuple[Tensor, Record]:
    """Return the logits [T, V], and the domain logits of every proportion layer."""
    ys, record = states(weights, source, target, shape, mixing)
    return output(weights, ys), record


def proportion_loss(
    records: Sequence[Record], labels: Sequence[int], *, smoothing: float, on_logits: bool, aux_norm: str
) -> float:
    """Return L_mix of a batch, one record a sentence.

    "text": -log D_J(x) summed over words and sentences, mean over layers. "code": the mean of all terms (the released
    code counts padding too: give it sentences of one length, or records with padding in them).
    """
    total, terms = 0.0, 0
    for record, label in zip(records, labels, strict=True):
        for layer in record.layers:
            for u_K in layer:
                d_K = smooth(u_K, 0.0 if on_logits else smoothing)
                total += -math.log(d_K[label].item())  # sec. 3.4: L_mix = - sum log D_J(x)
                terms += 1
    return total / (len(records[0].layers) if aux_norm == "text" else terms)
