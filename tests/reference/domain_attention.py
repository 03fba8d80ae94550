"""Domain-aware self-attention (Zhang et al. 2021) as a slow reference: a loop over words, domain vectors and heads."""

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
    softmax,
    thirds,
)
from torch import Tensor

# The key's part of z in a sentence-level model: any matrix gives the same output, so the model has none.
SENTENCE_KEYS = torch.Generator().manual_seed(3)


@dataclass
class Record:
    """e_i of eq. 7 for every word, [N]: for each attention that has domain vectors a list of them, by what it reads."""

    layers: dict[str, list[Vectors]] = field(default_factory=lambda: {"encoder": [], "memory": [], "decoder": []})
    shares: list[Tensor] = field(default_factory=list)  # of a sentence-level model: b, [N], of each encoder layer


def times(matrix: Tensor, x: Tensor) -> Tensor:
    return torch.stack([torch.dot(row, x) for row in matrix])


def domain_representation(weights: Weights, name: str, x_D: Tensor) -> tuple[Tensor, Tensor]:
    """Return the scores e_i [N] of one word, and its z_i."""
    query = times(weights[f"{name}.query.weight"], x_D)  # x_i W_u^Q
    scores, values = [], []
    for m_j in weights[f"{name}.vectors"]:
        key = times(weights[f"{name}.key.weight"], m_j)  # m_j W_m^K
        scores.append(torch.dot(query, key) / math.sqrt(len(m_j)))  # eq. 7
        values.append(times(weights[f"{name}.value.weight"], m_j))  # m_j W_m^V
    z = torch.zeros_like(values[0])
    for a, value in zip(softmax(scores), values, strict=True):  # eq. 6
        z = z + a * value  # eq. 8
    return torch.stack(scores), z


def aware(weights: Weights, name: str, x_D: Tensor, parts: int) -> tuple[list[Tensor], Tensor]:
    """Return (query,) key and value of one word, and its scores."""
    scores, z = domain_representation(weights, f"{name}.network", x_D)
    found = thirds(project(weights, f"{name}.words", x_D), parts)
    z_key, z_value = thirds(times(weights[f"{name}.domains.weight"], z), 2)
    found[-2] = found[-2] + z_key  # eq. 5: x_j W_x^K + z_j W_z^K
    found[-1] = found[-1] + z_value  # eq. 4: x_j W_x^V + z_j W_z^V
    return found, scores


def maps(weights: Weights, name: str, xs: Vectors, parts: int, seen: list[Vectors]) -> list[list[Tensor]]:
    """Return (queries,) keys and values of words, with domain vectors where the weights have them."""
    if f"{name}.weight" in weights:
        return [thirds(project(weights, name, x), parts) for x in xs]
    pairs = [aware(weights, name, x, parts) for x in xs]
    seen.append([scores for _, scores in pairs])
    return [found for found, _ in pairs]


def self_attention(
    weights: Weights, name: str, xs: Vectors, num_heads: int, seen: list[Vectors], *, causal: bool
) -> Vectors:
    found = maps(weights, f"{name}.qkv", xs, 3, seen)
    ys = []
    for t in range(len(xs)):
        words = found[: t + 1] if causal else found
        # eq. 4 and 5: the query carries no domain
        y = attend(found[t][0], [word[1] for word in words], [word[2] for word in words], num_heads)
        ys.append(project(weights, f"{name}.out", y))
    return ys


def sentence_self_attention(
    weights: Weights, name: str, xs: Vectors, num_heads: int, record: Record, *, causal: bool
) -> Vectors:
    """As `self_attention`, with z_1 = ... = z_n (sec. 3.2)."""
    if not causal:
        scores = [domain_representation(weights, f"{name}.qkv.network", x)[0] for x in xs]
        record.layers["encoder"].append(scores)
        b_N = torch.zeros(len(scores[0]), dtype=torch.float64)
        for found in scores:
            b_N = b_N + torch.stack(list(softmax(found))) / len(scores)
        record.shares.append(b_N)
    z = torch.zeros(len(xs[0]), dtype=torch.float64)
    for b, m_j in zip(record.shares[-1], weights[f"{name}.qkv.vectors"], strict=True):
        z = z + b * times(weights[f"{name}.qkv.value.weight"], m_j)  # eq. 8
    key_map = torch.randn(len(z), len(z), generator=SENTENCE_KEYS, dtype=torch.float64)
    found = [thirds(project(weights, f"{name}.qkv.words", x), 3) for x in xs]
    keys = [word[1] + times(key_map, z) for word in found]  # eq. 5
    values = [word[2] + times(weights[f"{name}.qkv.domains.weight"], z) for word in found]  # eq. 4
    ys = []
    for t in range(len(xs)):
        end = t + 1 if causal else len(xs)
        ys.append(project(weights, f"{name}.out", attend(found[t][0], keys[:end], values[:end], num_heads)))
    return ys


def cross_attention(
    weights: Weights, name: str, xs: Vectors, memory: Vectors, num_heads: int, seen: list[Vectors]
) -> Vectors:
    found = maps(weights, f"{name}.key_value", memory, 2, seen)
    ys = []
    for x in xs:
        y = attend(
            project(weights, f"{name}.query", x), [word[0] for word in found], [word[1] for word in found], num_heads
        )
        ys.append(project(weights, f"{name}.out", y))
    return ys


def encoder(weights: Weights, source: Sequence[int], shape: Shape, record: Record) -> Vectors:
    xs = embed(weights, "source_embedding", source)
    for layer in range(shape.encoder_layers):
        name = f"encoder.layers.{layer}"

        def attention(hs: Vectors, name: str = name) -> Vectors:
            if f"{name}.attention.qkv.value.weight" in weights:
                return sentence_self_attention(weights, f"{name}.attention", hs, shape.num_heads, record, causal=False)
            seen = record.layers["encoder"]
            return self_attention(weights, f"{name}.attention", hs, shape.num_heads, seen, causal=False)

        def ffn(hs: Vectors, name: str = name) -> Vectors:
            return feed_forward(weights, f"{name}.ffn", hs)

        xs = residual(weights, f"{name}.attention_residual", shape.norm, xs, attention)
        xs = residual(weights, f"{name}.ffn_residual", shape.norm, xs, ffn)
    return [layer_norm(weights, "encoder.norm", x) for x in xs] if shape.norm == "pre" else xs


def decoder(weights: Weights, memory: Vectors, target: Sequence[int], shape: Shape, record: Record) -> Vectors:
    xs = embed(weights, "target_embedding", target)
    for layer in range(shape.decoder_layers):
        name = f"decoder.layers.{layer}"

        def attention(hs: Vectors, name: str = name) -> Vectors:
            if f"{name}.self_attention.qkv.value.weight" in weights:
                return sentence_self_attention(
                    weights, f"{name}.self_attention", hs, shape.num_heads, record, causal=True
                )
            seen = record.layers["decoder"]
            return self_attention(weights, f"{name}.self_attention", hs, shape.num_heads, seen, causal=True)

        def cross(hs: Vectors, name: str = name) -> Vectors:
            seen = record.layers["memory"]
            return cross_attention(weights, f"{name}.cross_attention", hs, memory, shape.num_heads, seen)

        def ffn(hs: Vectors, name: str = name) -> Vectors:
            return feed_forward(weights, f"{name}.ffn", hs)

        xs = residual(weights, f"{name}.self_attention_residual", shape.norm, xs, attention)
        xs = residual(weights, f"{name}.cross_attention_residual", shape.norm, xs, cross)
        xs = residual(weights, f"{name}.ffn_residual", shape.norm, xs, ffn)
    return [layer_norm(weights, "decoder.norm", x) for x in xs] if shape.norm == "pre" else xs


def logits(weights: Weights, source: Sequence[int], target: Sequence[int], shape: Shape) -> tuple[Tensor, Record]:
    """Return the logits [T, V], and the scores of every domain attention."""
    record = Record()
    memory = encoder(weights, source, shape, record)
    return output(weights, decoder(weights, memory, target, shape, record)), record


def word_shares(counts: Sequence[Sequence[int]], word: int, num_slots: int, spare_share: float) -> list[float]:
    """Return p_j(word) for N slots, from the counts of all words in each corpus (Chen et al. 2014)."""
    if not any(corpus[word] for corpus in counts):
        return [0.0] * num_slots  # a word of no corpus: nothing is known of it
    entries = []
    for corpus in counts:
        most = max(corpus[other] + 0.5 for other in range(len(corpus)))
        entries.append((corpus[word] + 0.5) / most)  # tf_j(w) = c_j(w) / max_w' c_j(w'); idf is the same in all
    domains = [entry / sum(entries) for entry in entries]  # p_j = w_j / sum_j' w_j'
    slots = [*domains, *[spare_share] * (num_slots - len(domains))]
    return [slot / sum(slots) for slot in slots]


def guided_loss(
    records: Sequence[Record],
    sources: Sequence[Sequence[int]],
    targets: Sequence[Sequence[int]],
    source_counts: Sequence[Sequence[int]],
    target_counts: Sequence[Sequence[int]],
    *,
    spare_share: float,
) -> float:
    """Return Delta of eq. 9 (the cross-entropy of p and a): summed over words, mean over layers."""
    total, layers = 0.0, 0
    for record, source, target in zip(records, sources, targets, strict=True):
        layers = sum(len(found) for found in record.layers.values())
        for side, found in record.layers.items():
            words, counts = (target, target_counts) if side == "decoder" else (source, source_counts)
            for layer in found:
                for word, scores in zip(words, layer, strict=True):
                    shares = word_shares(counts, word, len(scores), spare_share)
                    total += -math.fsum(p * log_a for p, log_a in zip(shares, log_softmax(scores), strict=True))
    return total / layers
