"""DAMHA and DMoE (Song et al. 2026, sec. 3 and 4) as a slow reference: loops over words, experts, domains and heads."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from reference.losses import log_softmax
from reference.transformer import (
    Shape,
    Vectors,
    Weights,
    attend,
    embed,
    feed_forward,
    layer_norm,
    output,
    project,
    residual,
    self_attention,
    softmax,
    thirds,
)
from reference.transformer import decoder as plain_decoder
from torch import Tensor


@dataclass(frozen=True)
class Mixture:
    """What stands in the encoder."""

    damha: str = ""  # "", "v" or "qkv": what comes from experts
    damha_reads: str = "token"  # "token", "domain" or "mix": what the gate of attention reads
    ffn: str = "plain"  # "plain", "moe" or "dmoe"
    mixes: bool = False  # eq. 10 instead of eq. 9
    fusion: str = "add"
    top_k: int = 2


@dataclass
class Record:
    """The gates of one sentence: for each layer one a word (mix), or a single one (domain-only)."""

    layers: list[Vectors] = field(default_factory=list)


def gate(weights: Weights, name: str, x_D: Tensor, top_k: int | None) -> Tensor:
    if f"{name}.hidden.weight" in weights:
        x_D = torch.clamp(project(weights, f"{name}.hidden", x_D), min=0.0)  # eq. 3: max(0, W_1 x + b_1)
    scores = project(weights, f"{name}.scores", x_D)  # eq. 3: ... W_2 + b_2
    chosen = list(range(len(scores)))
    if top_k is not None:
        chosen = sorted(chosen, key=lambda i: -scores[i].item())[:top_k]  # eq. 2: TopK(FFN(x), k)
    g_N = torch.zeros(len(scores), dtype=torch.float64)
    for i, share in zip(chosen, softmax([scores[i] for i in chosen]), strict=True):
        g_N[i] = share  # eq. 2: softmax(...); experts that are not chosen have 0
    return g_N


def expert(weights: Weights, name: str, i: int, x_D: Tensor) -> Tensor:
    first, second = weights[f"{name}.first_weight"][i], weights[f"{name}.second_weight"][:, i]
    hidden = torch.zeros(first.shape[0], dtype=torch.float64)
    for row in range(first.shape[0]):
        z = torch.dot(first[row], x_D) + weights[f"{name}.first_bias"][i, row]
        hidden[row] = max(z.item(), 0.0)  # eq. 3: max(0, W_1 x + b_1)
    y = torch.zeros(second.shape[0], dtype=torch.float64)
    for row in range(second.shape[0]):
        y[row] = torch.dot(second[row], hidden) + weights[f"{name}.second_bias"][i, row]  # eq. 3: ... W_2 + b_2
    return y


def mixture(weights: Weights, name: str, x_D: Tensor, g_N: Tensor) -> Tensor:
    y = torch.zeros(len(x_D), dtype=torch.float64)
    for i in range(len(g_N)):
        if g_N[i] != 0.0:
            y = y + g_N[i] * expert(weights, name, i, x_D)  # eq. 1: sum_i G_i(x) E_i(x)
    return y


def fused(weights: Weights, name: str, h: Tensor, e_D: Tensor, mix: Mixture) -> Tensor:
    return h + e_D if mix.fusion == "add" else project(weights, f"{name}.fuse.linear", torch.cat([h, e_D]))


def damha(weights: Weights, name: str, hs: Vectors, domain: int, num_heads: int, mix: Mixture) -> Vectors:
    queries, keys, values = [], [], []
    for h in hs:
        read = h  # eq. 1: G(x)
        if mix.damha_reads != "token":
            read = weights[f"{name}.qkv.domain.weight"][domain]  # eq. 9: G(d)
        if mix.damha_reads == "mix":
            read = fused(weights, f"{name}.qkv", h, read, mix)  # eq. 10: G(x_d)
        g_N = gate(weights, f"{name}.qkv.gate", read, mix.top_k)
        if mix.damha == "v":
            q, k = thirds(project(weights, f"{name}.qkv.query_key", h), 2)  # eq. 8: Q W_Q, K W_K
            v = mixture(weights, f"{name}.qkv.experts.0", h, g_N)  # eq. 8: MoE(V)
        else:
            q, k, v = (mixture(weights, f"{name}.qkv.experts.{part}", h, g_N) for part in range(3))
        queries.append(q)
        keys.append(k)
        values.append(v)
    return [project(weights, f"{name}.out", attend(q, keys, values, num_heads)) for q in queries]  # eq. 7


def expert_block(weights: Weights, name: str, hs: Vectors, domain: int, mix: Mixture, record: Record) -> Vectors:
    e_D = weights[f"{name}.domain.weight"][domain]
    top_k = mix.top_k if mix.ffn == "moe" else None  # sec. 4.2: DMoE has all experts at work
    if not mix.mixes:
        g_N = gate(weights, f"{name}.gate", e_D, top_k)
        record.layers.append([g_N])
        return [mixture(weights, f"{name}.experts", h, g_N) for h in hs]  # eq. 9: sum_i G_i(d) E_i(x)
    ys, gates = [], []
    for h in hs:
        x_d = fused(weights, name, h, e_D, mix)
        g_N = gate(weights, f"{name}.gate", x_d, top_k)
        gates.append(g_N)
        ys.append(mixture(weights, f"{name}.experts", x_d, g_N))  # eq. 10: sum_i G_i(x_d) E_i(x_d)
    record.layers.append(gates)
    return ys


def encoder(
    weights: Weights, source: Sequence[int], domain: int, shape: Shape, mix: Mixture, record: Record
) -> Vectors:
    xs = embed(weights, "source_embedding", source)
    for layer in range(shape.encoder_layers):
        name = f"encoder.layers.{layer}"

        def attention(hs: Vectors, name: str = name) -> Vectors:
            if mix.damha:
                return damha(weights, f"{name}.attention", hs, domain, shape.num_heads, mix)
            return self_attention(weights, f"{name}.attention", hs, shape.num_heads, causal=False)

        def ffn(hs: Vectors, name: str = name) -> Vectors:
            if mix.ffn == "plain":
                return feed_forward(weights, f"{name}.ffn", hs)
            return expert_block(weights, f"{name}.ffn", hs, domain, mix, record)

        xs = residual(weights, f"{name}.attention_residual", shape.norm, xs, attention)
        xs = residual(weights, f"{name}.ffn_residual", shape.norm, xs, ffn)
    return [layer_norm(weights, "encoder.norm", x) for x in xs] if shape.norm == "pre" else xs


def logits(
    weights: Weights, source: Sequence[int], target: Sequence[int], domain: int, shape: Shape, mix: Mixture
) -> tuple[Tensor, Record]:
    """Return the logits [T, V], and the gates of the feed-forward experts."""
    record = Record()
    memory = encoder(weights, source, domain, shape, mix, record)
    return output(weights, plain_decoder(weights, memory, target, shape)), record


def generation_loss(logits_TV: Tensor, labels: Sequence[int], eps: float) -> float:
    """Return L_MT (eq. 11), summed over words."""
    total = 0.0
    for logits_V, y in zip(logits_TV, labels, strict=True):
        log_p = log_softmax(logits_V)
        total -= (1.0 - eps) * log_p[y]  # eq. 11: (1 - eps) log p_y
        for i in range(len(log_p)):
            if i != y:
                total -= eps / (len(log_p) - 1) * log_p[i]  # eq. 11: sum over i != y of eps / (V - 1) log p_i
    return total


def items_of(records: Sequence[Record], layer: int) -> Vectors:
    return [g_N for record in records for g_N in record.layers[layer]]


def balance_loss(records: Sequence[Record]) -> float:
    """Return L_lb1 (eq. 12) of a batch, mean over layers."""
    num_layers = len(records[0].layers)
    total = 0.0
    for layer in range(num_layers):
        items = items_of(records, layer)
        n = len(items[0])
        for j in range(n):
            use = math.fsum(g_N[j].item() for g_N in items) / len(items)  # eq. 12: 1/B sum_i p_ij
            total += (use - 1 / n) ** 2 / n  # eq. 12: 1/N sum_j (... - 1/N)^2
    return total / num_layers


def entropy_loss(records: Sequence[Record], weight: float) -> float:
    """Return L_lb2 (eq. 13) of a batch, mean over layers."""
    num_layers = len(records[0].layers)
    total = 0.0
    for layer in range(num_layers):
        items = items_of(records, layer)
        for g_N in items:
            for p in g_N.tolist():
                total -= weight * p * math.log(p + 1e-9) / len(items)  # eq. 13: -lambda 1/B sum_i sum_j p log(p + eps)
    return total / num_layers


def alpha(t: int, start: int, end: int, high: float, low: float) -> float:
    """Return the factor of both losses."""
    p = (t - start) / (end - start)  # eq. 16
    p = min(max(p, 0.0), 1.0)
    return max((high - low) * math.sin(math.pi * p), low)  # eq. 15
