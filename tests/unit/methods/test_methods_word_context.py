"""WDC and WL equal the slow reference, and each of their losses trains what it should."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
import torch
from against_reference import TOLERANCE, both_types, gradients, num_parameters, reached, weights_of
from reference import multitask as slow_sentence
from reference import word_context as slow
from reference.transformer import Shape

SOURCES = [[5, 2], [7, 8, 9, 10, 2], [3, 11, 2]]
TARGETS = [[12, 13, 14, 2], [15, 2], [16, 17, 2]]
LABELS = {2: [0, 1, 1], 3: [2, 0, 1]}
SIZES = {"num_heads": 2, "encoder_layers": 2, "decoder_layers": 1, "label_smoothing": 0.13}
WDC = {"word_contexts": True, "weighted_loss": "none"}
WL = {"word_contexts": False, "weighted_loss": "aligned"}
BOTH = {"word_contexts": True, "weighted_loss": "aligned"}
# Each option with either norm order or number of domains at least once.
CASES = [
    {**WDC, "norm": "pre", "k": 2, "feature_dim": 5},
    {**WDC, "norm": "post", "k": 3, "aux_norm": "code"},
    {**WL, "norm": "pre", "k": 3, "aux_norm": "code"},
    {**WL, "norm": "post", "k": 2},
    {**BOTH, "norm": "pre", "k": 3, "weighted_loss": "misaligned", "aux_norm": "text"},
    {**BOTH, "norm": "post", "k": 2, "aux_norm": "code", "feature_dim": 5},
    {**BOTH, "norm": "pre", "k": 3, "aux_norm": "text", "adversarial_weight": 1.0},
]


@both_types
@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(map(str, case.values())))
def test_output_and_losses_equal_the_reference(
    random_method: Any, make_batch: Any, case: dict[str, Any], dtype: torch.dtype
) -> None:
    options = {**case}
    k = options.pop("k")
    method = random_method("word_context", num_domains=k, dtype=dtype, **options, **SIZES)
    weights = weights_of(method)
    batch = make_batch(SOURCES, TARGETS, LABELS[k])
    found = method.model(batch)
    shape = Shape(num_heads=2, encoder_layers=2, decoder_layers=1, norm=options["norm"])
    parts = {"word_contexts": options["word_contexts"], "weighted": options["weighted_loss"] != "none"}
    logits, domain_logits, alphas = [], [], []
    rows = found.logits().split([len(target) for target in TARGETS])
    for source, target, row in zip(SOURCES, TARGETS, rows, strict=True):
        expected, of_classifiers, alpha = slow.run(weights, source, [1, *target[:-1]], shape, **parts)
        error = (row.double() - expected).abs().max() / expected.abs().max()
        assert error.item() < TOLERANCE[dtype]
        logits.append(expected)
        domain_logits.append(of_classifiers)
        alphas.append(alpha)
    if options["weighted_loss"] == "misaligned":
        assert slow.misaligned(alphas) != alphas
        alphas = slow.misaligned(alphas)
    values = {loss.name: loss(found, batch).item() for loss in method.losses}
    expected_domain = slow_sentence.sentence_loss(domain_logits, LABELS[k], options.get("aux_norm", "text"))
    assert values == {
        "generation": pytest.approx(slow.weighted_cross_entropy(logits, TARGETS, alphas, 0.13), rel=TOLERANCE[dtype]),
        "sentence": pytest.approx(expected_domain, rel=TOLERANCE[dtype]),
    }


@pytest.mark.parametrize("options", [WL, BOTH, {**BOTH, "weighted_loss": "misaligned"}], ids=str)
def test_the_weights_are_constants_and_their_classifier_touches_nothing_else(
    random_method: Any, make_batch: Any, options: Any
) -> None:
    batch = make_batch(SOURCES, TARGETS, LABELS[2])
    method = random_method("word_context", norm="post", **options)
    names = {name for name, _ in method.model.named_parameters()}
    classifier = {name for name in names if name.startswith("classifiers.decoder.")}
    assert len(classifier) == 5
    generation = gradients(method, batch, "generation")
    assert all(generation[name] is None for name in classifier)
    sentence = gradients(method, batch, "sentence")
    assert classifier <= reached(sentence)
    assert not any(name.startswith(("decoder.", "target_embedding.", "output_weight")) for name in reached(sentence))
    if not options["word_contexts"]:
        assert reached(sentence) == classifier
        assert reached(generation) == names - classifier
    apart = {id(parameter) for parameter in method.clip_apart}
    assert apart == {id(parameter) for name, parameter in method.model.named_parameters() if name in classifier}


def test_domain_contexts_are_trained_by_both_losses_and_their_classifiers_by_one(
    random_method: Any, make_batch: Any
) -> None:
    batch = make_batch(SOURCES, TARGETS, LABELS[2])
    method = random_method("word_context", norm="post", **WDC)
    names = {name for name, _ in method.model.named_parameters()}
    classifiers = {name for name in names if name.startswith("bridge.") and ".classifier." in name}
    gates = {name for name in names if "_gate." in name or ".reduce." in name}
    assert (len(classifiers), len(gates)) == (4, 8)
    generation = gradients(method, batch, "generation")
    assert reached(generation) == names - classifiers
    assert all(generation[name] is None for name in classifiers)
    branches = {name for name in names if name.startswith("bridge.")} - gates
    below = {name for name in names if name.startswith(("encoder.", "source_embedding."))}
    assert reached(gradients(method, batch, "sentence")) == branches | below


@pytest.mark.parametrize("strength", [0.1, 1.0])
def test_the_shared_branch_is_reversed_behind_its_classifier(
    random_method: Any, make_batch: Any, strength: float
) -> None:
    batch = make_batch(SOURCES, TARGETS, LABELS[2])
    method = random_method("word_context", norm="post", adversarial_weight=strength, **WDC)
    bridge = method.model.bridge
    turned = gradients(method, batch, "sentence")
    # The same with the adversary out, and with it as a friend: what it adds must come back times -strength.
    bridge.shared.reversal = None
    friendly = gradients(method, batch, "sentence")
    bridge.shared.reversal = 0.0
    alone = gradients(method, batch, "sentence")
    for name in reached(turned):
        one, other, without = turned[name], friendly[name], alone[name]
        assert one is not None and other is not None and without is not None
        if name.startswith("bridge.shared.classifier.") or name.startswith("bridge.specific."):
            assert torch.equal(one, other), name
        else:
            assert torch.allclose(one - without, -strength * (other - without), rtol=1e-8, atol=1e-12), name
            assert not torch.allclose(one, without), name


@pytest.mark.parametrize(("size", "k", "d"), [("base", 2, 512), ("enlarged", 2, 724), ("enlarged", 4, 1024)])
def test_the_size_of_the_published_configuration(size: str, k: int, d: int) -> None:
    options = {"model_dim": 512, "ffn_dim": 1024, "num_heads": 4, "norm": "post", "size": size}

    parameters = partial(num_parameters, num_domains=k, **options)
    plain = parameters("transformer")
    pooling = d * d + d

    def contexts(f: int) -> int:
        # A branch: pooling, U with u, V with v, A, B with b. Then the map from 2 d to d with its bias.
        branch = pooling + (d * f + f) + (f * k + k) + d * f + (d * d + d)
        return 2 * branch + 2 * d * d + d

    # Pooling, one slope, d -> k with its bias.
    weights = pooling + 1 + d * k + k
    assert parameters("word_context", **WDC) == plain + contexts(300)
    assert parameters("word_context", **WDC, feature_dim=64) == plain + contexts(64)
    assert parameters("word_context", **WL) == plain + weights
    assert parameters("word_context", **BOTH) == plain + contexts(300) + weights
