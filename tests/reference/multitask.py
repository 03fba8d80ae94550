"""Sentence classifiers (Britz et al. 2017, as in the code of Jiang et al. 2020) as a slow reference."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from reference.losses import log_softmax
from reference.transformer import Vectors, Weights, project, softmax
from torch import Tensor


def pool(weights: Weights, name: str, xs: Vectors) -> tuple[Tensor, Vectors]:
    """Return the sentence's vector c, and the attention a of each word."""
    w_DD, v_1D = weights[f"{name}.hidden.weight"], weights[f"{name}.score.weight"]
    scores = []
    for x in xs:
        hidden = torch.stack([torch.dot(row, x) for row in w_DD])  # W x_t
        scores.append(torch.dot(v_1D[0], torch.tanh(hidden)))  # v^T tanh(W x_t)
    attention = softmax(scores)  # a = softmax_t(v^T tanh(W x_t))
    c = torch.zeros_like(xs[0])
    for a, x in zip(attention, xs, strict=True):
        c = c + a * x  # c = sum_t a_t x_t
    return c, attention


def prelu(weights: Weights, name: str, x_D: Tensor) -> Tensor:
    slope = weights[f"{name}.weight"][0]
    return torch.stack([x if x > 0 else slope * x for x in x_D])  # He et al. 2015, eq. 1


def sentence_logits(weights: Weights, name: str, xs: Vectors) -> Tensor:
    """Return the domain logits [K] of a sentence with the states xs."""
    h, _ = pool(weights, f"{name}.pooling", xs)
    for place in (0, 2, 4):  # d -> d/2 -> d/4 -> d/8, a PReLU behind each
        h = project(weights, f"{name}.perceptron.{place}", h)
        h = prelu(weights, f"{name}.perceptron.{place + 1}", h)
    return project(weights, f"{name}.perceptron.6", h)  # d/8 -> k


def sentence_loss(logits: Sequence[Sequence[Tensor]], labels: Sequence[int], aux_norm: str) -> float:
    """Return the domain loss of a batch: for each sentence, the logits of one or more classifiers.

    "text": summed over sentences and classifiers. "code": the mean over both.
    """
    total, terms = 0.0, 0
    for of_sentence, label in zip(logits, labels, strict=True):
        for logits_K in of_sentence:
            total += -log_softmax(logits_K)[label]  # - log p(d | x)
            terms += 1
    return total if aux_norm == "text" else total / terms
