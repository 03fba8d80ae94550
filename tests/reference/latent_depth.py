"""Latent sub-layers as a slow reference: one sentence pair, a loop over layers, blocks, words and domains.

Blocks are numbered: attention and feed-forward of encoder layer 0, 1, ..., then self-attention, cross-attention and
feed-forward of decoder layer 0, 1, ...
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from reference import transformer as slow
from reference.transformer import Shape, Vectors, Weights
from reference.waldm import domain_matrix
from torch import Tensor


def sigmoid(x: float) -> float:
    return 1.0 / (1.0 + math.exp(-x))


def drawn_use(logits_N: Sequence[float], uniform_N: Sequence[float], tau: float, *, hard: bool) -> list[float]:
    """Return z of each block, given the uniform numbers that were drawn."""
    use = []
    for logit, u in zip(logits_N, uniform_N, strict=True):
        noise = math.log(u) - math.log(1.0 - u)  # g1 - g2 of two Gumbel variables is logistic
        z = sigmoid((logit + noise) / tau)  # Jang et al. 2017, eq. 2, for two classes
        use.append(float(z > 0.5) if hard else z)
    return use


def settled_use(logits_N: Sequence[float]) -> list[float]:
    return [1.0 if logit > 0 else 0.0 for logit in logits_N]  # z = 1[l > 0]


def scaled(block: Callable[[Vectors], Vectors], z: float) -> Callable[[Vectors], Vectors]:
    return lambda hs: [z * y for y in block(hs)]  # x + z F(x)


def logits(
    weights: Weights, source: Sequence[int], target: Sequence[int], shape: Shape, use_N: Sequence[float]
) -> Tensor:
    """Return [T, V] of the model whose block n is weighed by use_N[n]."""
    numbers = iter(use_N)
    heads = shape.num_heads

    def add(name: str, xs: Vectors, block: Callable[[Vectors], Vectors]) -> Vectors:
        return slow.residual(weights, f"{name}_residual", shape.norm, xs, scaled(block, next(numbers)))

    xs = slow.embed(weights, "source_embedding", source)
    for layer in range(shape.encoder_layers):
        at = f"encoder.layers.{layer}"
        xs = add(
            f"{at}.attention",
            xs,
            lambda hs, at=at: slow.self_attention(weights, f"{at}.attention", hs, heads, causal=False),
        )
        xs = add(f"{at}.ffn", xs, lambda hs, at=at: slow.feed_forward(weights, f"{at}.ffn", hs))
    memory = [slow.layer_norm(weights, "encoder.norm", x) for x in xs] if shape.norm == "pre" else xs
    ys = slow.embed(weights, "target_embedding", target)
    for layer in range(shape.decoder_layers):
        at = f"decoder.layers.{layer}"
        ys = add(
            f"{at}.self_attention",
            ys,
            lambda hs, at=at: slow.self_attention(weights, f"{at}.self_attention", hs, heads, causal=True),
        )
        ys = add(
            f"{at}.cross_attention",
            ys,
            lambda hs, at=at: slow.cross_attention(weights, f"{at}.cross_attention", hs, memory, heads),
        )
        ys = add(f"{at}.ffn", ys, lambda hs, at=at: slow.feed_forward(weights, f"{at}.ffn", hs))
    states = [slow.layer_norm(weights, "decoder.norm", y) for y in ys] if shape.norm == "pre" else ys
    assert next(numbers, None) is None
    return slow.output(weights, states)


MAPS = {
    "encoder": (("attention", ("qkv", "out")), ("ffn", ("first", "second"))),
    "decoder": (
        ("self_attention", ("qkv", "out")),
        ("cross_attention", ("query", "key_value", "out")),
        ("ffn", ("first", "second")),
    ),
}


def weights_of_sentence(weights: Weights, shape: Shape, use_N: Sequence[float], domain: int) -> Weights:
    """Return a plain Transformer's weights: each map is (1 - z) of the shared one and z of the domain's own."""
    found = {name: value for name, value in weights.items() if ".maps." not in name}
    numbers = iter(use_N)
    for side, layers in (("encoder", shape.encoder_layers), ("decoder", shape.decoder_layers)):
        for layer in range(layers):
            for block, maps in MAPS[side]:
                z = next(numbers)
                for name in maps:
                    at = f"{side}.layers.{layer}.{block}.{name}"
                    shared, own = (domain_matrix(weights, f"{at}.maps", slot) for slot in (0, 1 + domain))
                    bias = weights[f"{at}.maps.bias"]
                    found[f"{at}.weight"] = (1.0 - z) * shared + z * own  # (1 - z) W + z W_d
                    found[f"{at}.bias"] = (1.0 - z) * bias[0] + z * bias[1 + domain]  # (1 - z) b + z b_d
    return found


def entropy(p: float) -> float:
    return -p * math.log(p) - (1.0 - p) * math.log(1.0 - p)


def prior_loss(logits_KN: Sequence[Sequence[float]], domains: Sequence[int], lengths: Sequence[int]) -> float:
    total = 0.0
    for domain, length in zip(domains, lengths, strict=True):
        kl = 0.0
        for logit in logits_KN[domain]:
            p = sigmoid(logit)
            kl += p * math.log(p / 0.5) + (1.0 - p) * math.log((1.0 - p) / 0.5)  # KL(pi || 1/2)
        total += length * kl / len(logits_KN[domain])  # the mean over blocks, for every target word
    return total


def mean_use(logits_KN: Sequence[Sequence[float]]) -> list[float]:
    return [sum(sigmoid(l_N[n]) for l_N in logits_KN) / len(logits_KN) for n in range(len(logits_KN[0]))]


def sharing_loss(logits_KN: Sequence[Sequence[float]], num_words: int) -> float:
    return num_words * math.fsum(entropy(p) for p in mean_use(logits_KN))  # sum_n H(1/K sum_d pi_dn)


def count_loss(logits_KN: Sequence[Sequence[float]], num_words: int, target: int) -> float:
    return num_words * (math.fsum(mean_use(logits_KN)) - target) ** 2  # (expected number - target)^2
