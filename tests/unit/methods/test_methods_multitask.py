"""MTL, AdvL and PAdvL equal the slow reference; their domain loss reaches the encoder with the sign it should."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from against_reference import TOLERANCE, both_types, gradients, num_parameters, weights_of
from reference import losses as slow_losses
from reference import multitask as slow
from reference.transformer import Shape, decoder, encoder, output

from mdnmt.config.architectures.architecture import with_size
from mdnmt.methods import validate

SOURCES = [[5, 2], [7, 8, 9, 10, 2], [3, 11, 2]]
TARGETS = [[12, 13, 14, 2], [15, 2], [16, 17, 2]]
LABELS = {2: [0, 1, 1], 3: [2, 0, 1]}
SIZES = {"num_heads": 2, "encoder_layers": 2, "decoder_layers": 1, "label_smoothing": 0.13}
# Options of both norms, numbers of domains and sums of the loss, each beside each gradient at least once.
CASES = [
    ("pass", "pre", 2, "text"),
    ("pass", "post", 3, "code"),
    ("reverse", "pre", 3, "code"),
    ("reverse", "post", 2, "text"),
    ("half", "pre", 2, "code"),
    ("half", "post", 3, "text"),
]


@both_types
@pytest.mark.parametrize(("gradient", "norm", "k", "aux_norm"), CASES)
def test_output_and_losses_equal_the_reference(
    random_method: Any, make_batch: Any, gradient: str, norm: str, k: int, aux_norm: str, dtype: torch.dtype
) -> None:
    options = {"gradient": gradient, "norm": norm, "aux_norm": aux_norm, **SIZES}
    method = random_method("multitask", num_domains=k, dtype=dtype, **options)
    weights = weights_of(method)
    batch = make_batch(SOURCES, TARGETS, LABELS[k])
    found = method.model(batch)
    shape = Shape(num_heads=2, encoder_layers=2, decoder_layers=1, norm=norm)
    generation, domain_logits = 0.0, []
    rows = found.logits().split([len(target) for target in TARGETS])
    for source, target, row in zip(SOURCES, TARGETS, rows, strict=True):
        states = encoder(weights, source, shape)
        expected = output(weights, decoder(weights, states, [1, *target[:-1]], shape))
        error = (row.double() - expected).abs().max() / expected.abs().max()
        assert error.item() < TOLERANCE[dtype]
        generation += slow_losses.label_smoothed_cross_entropy(expected, target, 0.13)
        domain_logits.append([slow.sentence_logits(weights, "classifiers.encoder", states)])
    values = {loss.name: loss(found, batch).item() for loss in method.losses}
    expected_domain = slow.sentence_loss(domain_logits, LABELS[k], aux_norm)
    assert values == {
        "generation": pytest.approx(generation, rel=TOLERANCE[dtype]),
        "sentence": pytest.approx(expected_domain, rel=TOLERANCE[dtype]),
    }


@pytest.mark.parametrize("gradient", ["pass", "reverse", "half"])
def test_the_domain_loss_reaches_classifier_and_encoder_alone(
    random_method: Any, make_batch: Any, gradient: str
) -> None:
    batch = make_batch(SOURCES, TARGETS, LABELS[3])
    method = random_method("multitask", num_domains=3, gradient=gradient)
    for name, found in gradients(method, batch, "sentence").items():
        reached = name.startswith(("classifiers.encoder.", "encoder.", "source_embedding."))
        assert (found is not None and bool(found.any())) == reached, name
    for name, found in gradients(method, batch, "generation").items():
        assert (found is None) == name.startswith("classifiers."), name


def test_the_encoder_sees_the_gradient_with_the_sign_of_the_row(random_method: Any, make_batch: Any) -> None:
    batch = make_batch(SOURCES, TARGETS, LABELS[3])
    methods = {row: random_method("multitask", num_domains=3, gradient=row) for row in ("pass", "reverse", "half")}
    found = {row: gradients(method, batch, "sentence") for row, method in methods.items()}
    # The gradient at the encoder's output, taken through the classifier that lets it pass.
    model = methods["pass"].model
    method_output = model(batch)
    states = model.encode(batch.source_BS, batch.source_mask_BS, method_output.context).output_BSD
    method_output.context.records.clear()
    model.classifiers["encoder"](states, batch.source_mask_BS, method_output.context)
    [at_states] = torch.autograd.grad(methods["pass"].losses[1](method_output, batch), [states], retain_graph=True)
    signs = {"pass": torch.ones(16), "reverse": -torch.ones(16), "half": torch.tensor([-1.0] * 8 + [1.0] * 8)}
    below = {n: p for n, p in model.named_parameters() if n.startswith(("encoder.", "source_embedding."))}
    for row, sign in signs.items():
        expected = torch.autograd.grad(states, list(below.values()), at_states * sign, retain_graph=True)
        for name, one in zip(below, expected, strict=True):
            assert torch.allclose(found[row][name], one, rtol=1e-9, atol=1e-12), f"{row}: {name}"  # type: ignore[arg-type]
        for name, value in found[row].items():
            if name.startswith("classifiers."):
                assert torch.equal(value, found["pass"][name]), f"{row}: {name}"  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("size", "k", "d", "f"), [("base", 2, 512, 1024), ("enlarged", 2, 724, 1448), ("enlarged", 4, 1024, 2048)]
)
def test_the_size_of_the_published_configuration(size: str, k: int, d: int, f: int) -> None:
    options = {"model_dim": 512, "ffn_dim": 1024, "num_heads": 4, "norm": "post", "size": size}
    widths = with_size(validate("multitask", options, where="test"), k)
    assert (widths.model_dim, widths.ffn_dim) == (d, f)
    # W and v of the pooling; d -> d/2 -> d/4 -> d/8 -> k with biases and three slopes.
    pooling = d * d + d
    perceptron = (d + 1) * (d // 2) + (d // 2 + 1) * (d // 4) + (d // 4 + 1) * (d // 8) + (d // 8 + 1) * k + 3
    plain = num_parameters("transformer", num_domains=k, **options)
    for gradient in ("pass", "reverse", "half"):
        found = num_parameters("multitask", num_domains=k, gradient=gradient, **options)
        assert found == plain + pooling + perceptron
