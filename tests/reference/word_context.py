"""WDC and WL (Zeng et al. 2018; Jiang et al. 2020, sec. 4.2) as a slow reference: loops over words and sentences."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from reference.losses import log_softmax
from reference.multitask import pool, prelu
from reference.transformer import Shape, Vectors, Weights, decoder, encoder, output, project
from torch import Tensor


def branch(weights: Weights, name: str, hs: Vectors) -> tuple[Vectors, Tensor]:
    """Return the gated states of a sentence, and its domain logits."""
    c, _ = pool(weights, f"{name}.pooling", hs)
    f = torch.tanh(project(weights, f"{name}.feature", c))  # f = tanh(U c + u)
    gated = []
    for h in hs:
        a_f = torch.stack([torch.dot(row, f) for row in weights[f"{name}.feature_gate.weight"]])  # A f
        g = torch.sigmoid(a_f + project(weights, f"{name}.word_gate", h))  # G_t = sigmoid(A f + B h_t + b)
        gated.append(g * h)  # H_t = G_t * h_t
    return gated, project(weights, f"{name}.classifier", f)  # V f + v, without Zeng's tanh


def contexts(weights: Weights, hs: Vectors) -> tuple[Vectors, list[Tensor]]:
    """Return what the decoder sees, and the logits of the specific and the shared branch."""
    specific, logits_s = branch(weights, "bridge.specific", hs)
    shared, logits_r = branch(weights, "bridge.shared", hs)
    # The point-wise linear map of Jiang et al. 2020, sec. 4.2, from 2 d to d.
    reduced = [project(weights, "bridge.reduce", torch.cat(pair)) for pair in zip(specific, shared, strict=True)]
    return reduced, [logits_s, logits_r]


def word_weights(weights: Weights, ys: Vectors) -> tuple[Tensor, list[float]]:
    """Return the domain logits read from the decoder's last states, and alpha of each target word."""
    c, alpha = pool(weights, "classifiers.decoder.pooling", ys)
    logits_K = project(weights, "classifiers.decoder.output", prelu(weights, "classifiers.decoder.activation", c))
    return logits_K, [a.item() for a in alpha]


def run(
    weights: Weights, source: Sequence[int], target: Sequence[int], shape: Shape, *, word_contexts: bool, weighted: bool
) -> tuple[Tensor, list[Tensor], list[float]]:
    """Return the logits [T, V], the domain logits of every classifier, and alpha (0 without weighted loss)."""
    memory, domain_logits = encoder(weights, source, shape), []
    if word_contexts:
        memory, domain_logits = contexts(weights, memory)
    ys = decoder(weights, memory, target, shape)
    alpha = [0.0] * len(ys)
    if weighted:
        logits_K, alpha = word_weights(weights, ys)
        domain_logits = [*domain_logits, logits_K]
    return output(weights, ys), domain_logits, alpha


def weighted_cross_entropy(
    logits: Sequence[Tensor], labels: Sequence[Sequence[int]], alphas: Sequence[Sequence[float]], smoothing: float
) -> float:
    """Return the generation loss of a batch; the smoothing term is not weighted."""
    total = 0.0
    for logits_TV, words, alpha in zip(logits, labels, alphas, strict=True):
        for logits_V, word, a in zip(logits_TV, words, alpha, strict=True):
            log_p = log_softmax(logits_V)
            total += (1.0 - smoothing) * (1.0 + a) * -log_p[word]  # sec. 4.2: (1 + alpha_j) log p(y_j | x, y_<j)
            total += smoothing / len(log_p) * -math.fsum(log_p)  # e / V, the true word included
    return total


def misaligned(alphas: Sequence[Sequence[float]]) -> list[list[float]]:
    """Return alpha as the released code pairs it with words: written [T, B], read as if it were [B, T]."""
    longest = max(map(len, alphas))
    written = [alpha[t] if t < len(alpha) else 0.0 for t in range(longest) for alpha in alphas]
    return [[written[b * longest + t] for t in range(len(alpha))] for b, alpha in enumerate(alphas)]
