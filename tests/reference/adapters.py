"""Adapters (Bapna and Firat 2019) as a slow reference: one sentence pair of one domain, a loop for every sum."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from reference import transformer as slow
from reference.transformer import Shape, Vectors, Weights
from reference.waldm import domain_matrix
from torch import Tensor


def adapter(weights: Weights, name: str, x_D: Tensor, domain: int) -> Tensor:
    own = {"norm.weight": weights[f"{name}.norm_weight"][domain], "norm.bias": weights[f"{name}.norm_bias"][domain]}
    for part in ("down", "up"):
        own[f"{part}.weight"] = domain_matrix(weights, f"{name}.{part}", domain)
        own[f"{part}.bias"] = weights[f"{name}.{part}.bias"][domain]
    normed = slow.layer_norm(own, "norm", x_D)  # z~ = LN_d(z)
    hidden = torch.clamp(slow.project(own, "down", normed), min=0.0)  # h = relu(W_db z~)
    return x_D + slow.project(own, "up", hidden)  # x = W_bd h + z


def adapted(weights: Weights, at: str, xs: Vectors, domain: int | None) -> Vectors:
    """Return what a layer gives to the next one."""
    return xs if domain is None else [adapter(weights, f"{at}.ffn_residual.adapters", x, domain) for x in xs]


def logits(weights: Weights, source: Sequence[int], target: Sequence[int], shape: Shape, domain: int | None) -> Tensor:
    """Return [T, V]; without a domain, those of the Transformer that the adapters were added to."""
    heads = shape.num_heads
    xs = slow.embed(weights, "source_embedding", source)
    for layer in range(shape.encoder_layers):
        at = f"encoder.layers.{layer}"
        xs = slow.residual(
            weights,
            f"{at}.attention_residual",
            shape.norm,
            xs,
            lambda hs, at=at: slow.self_attention(weights, f"{at}.attention", hs, heads, causal=False),
        )
        xs = slow.residual(
            weights,
            f"{at}.ffn_residual",
            shape.norm,
            xs,
            lambda hs, at=at: slow.feed_forward(weights, f"{at}.ffn", hs),
        )
        xs = adapted(weights, at, xs, domain)
    memory = [slow.layer_norm(weights, "encoder.norm", x) for x in xs] if shape.norm == "pre" else xs
    ys = slow.embed(weights, "target_embedding", target)
    for layer in range(shape.decoder_layers):
        at = f"decoder.layers.{layer}"
        ys = slow.residual(
            weights,
            f"{at}.self_attention_residual",
            shape.norm,
            ys,
            lambda hs, at=at: slow.self_attention(weights, f"{at}.self_attention", hs, heads, causal=True),
        )
        ys = slow.residual(
            weights,
            f"{at}.cross_attention_residual",
            shape.norm,
            ys,
            lambda hs, at=at: slow.cross_attention(weights, f"{at}.cross_attention", hs, memory, heads),
        )
        ys = slow.residual(
            weights,
            f"{at}.ffn_residual",
            shape.norm,
            ys,
            lambda hs, at=at: slow.feed_forward(weights, f"{at}.ffn", hs),
        )
        ys = adapted(weights, at, ys, domain)
    states = [slow.layer_norm(weights, "decoder.norm", y) for y in ys] if shape.norm == "pre" else ys
    return slow.output(weights, states)
