"""Adapters equal their slow reference, begin as the model that they start from, and are all that is trained."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from against_reference import TOLERANCE, both_norms, both_types, num_parameters, weights_of
from reference import adapters as slow
from reference import losses as slow_losses
from reference import transformer as slow_transformer

from mdnmt.checkpoints.weights import load_model
from mdnmt.methods import build, validate
from mdnmt.methods.method import VocabSizes
from mdnmt.operations.method_checks import TOY_SIZES
from mdnmt.paths import RunPaths
from mdnmt.train.initialise import InitialWeights, initialise
from mdnmt.train.run import train_run

SOURCES = [[5, 6, 7, 2], [2], [8, 9, 10, 11, 2]]
TARGETS = [[12, 2], [13, 14, 15, 2], [2]]
SIZES = {**TOY_SIZES, "encoder_layers": 2, "decoder_layers": 2, "max_positions": 40, "share_embeddings": "all"}
SHORT = {"max_updates": 4, "validate_every": 2, "average_checkpoints": 0, "validation_bleu_sentences": 0}


def is_adapter(name: str) -> bool:
    return ".adapters." in name


@both_types
@both_norms
@pytest.mark.parametrize("width", [5, 20])  # narrower and wider than the model
def test_it_equals_the_reference(
    random_method: Any, make_batch: Any, width: int, norm: str, dtype: torch.dtype
) -> None:
    options = {"bottleneck_dim": width, "norm": norm, "label_smoothing": 0.13, "encoder_layers": 1}
    method = random_method("adapters", num_domains=3, dtype=dtype, **options)
    weights = weights_of(method)
    shape = slow_transformer.Shape(num_heads=2, encoder_layers=1, decoder_layers=2, norm=norm)
    domains = [2, 0, 1]
    batch = make_batch(SOURCES, TARGETS, domains)
    output = method.model(batch)
    rows, expected_loss = output.logits().split([len(target) for target in TARGETS]), 0.0
    for source, target, domain, found in zip(SOURCES, TARGETS, domains, rows, strict=True):
        expected = slow.logits(weights, source, [1, *target[:-1]], shape, domain)
        assert ((found.double() - expected).abs().max() / expected.abs().max()).item() < TOLERANCE[dtype]
        expected_loss += slow_losses.label_smoothed_cross_entropy(expected, target, 0.13)
    [loss] = method.losses
    assert loss(output, batch).item() == pytest.approx(expected_loss, rel=TOLERANCE[dtype])
    assert method.needs_domain


def test_it_begins_as_the_model_that_it_starts_from(random_method: Any, make_batch: Any) -> None:
    plain = random_method("transformer", share_embeddings="all").model
    options = validate("adapters", SIZES, where="test")
    model = build("adapters", options, VocabSizes(29, 29, True), 3).model.double().eval()
    initialise(model, InitialWeights(Path("model.safetensors"), "0" * 64, plain.state_dict()))
    batch = make_batch(SOURCES, TARGETS, [2, 0, 1])
    with torch.inference_mode():  # in training, what is frozen needs no gradient and takes other kernels
        assert torch.equal(model(batch).logits(), plain(batch).logits())


def test_a_sentence_trains_the_adapters_of_its_domain_alone(random_method: Any, make_batch: Any) -> None:
    method = random_method("adapters", num_domains=3, bottleneck_dim=5)
    batch = make_batch(SOURCES, TARGETS, [2, 0, 2])
    method.losses[0](method.model(batch), batch).backward()
    for name, parameter in method.model.named_parameters():
        assert parameter.requires_grad == is_adapter(name) == (parameter.grad is not None), name
        if parameter.grad is None:
            continue
        domains_first = parameter.grad.transpose(0, 1) if name.endswith("up.weight") else parameter.grad
        assert domains_first.flatten(1).any(1).tolist() == [True, False, True], name


def test_the_number_of_parameters() -> None:
    # Of each domain and layer: gain and bias of the norm, two maps with their biases.
    of_layer = 2 * 32 + (32 * 6 + 6) + (6 * 32 + 32)
    sizes = {"model_dim": 32, "num_heads": 4}
    assert num_parameters("adapters", bottleneck_dim=6, **sizes) == (
        num_parameters("transformer", **sizes) + 4 * 12 * of_layer
    )


def test_a_run_changes_nothing_but_the_adapters(make_spec: Any, toy_task: Path, tmp_path: Path) -> None:
    first = make_spec("transformer", **SHORT)
    train_run(first, toy_task, tmp_path / "mixed", device="cpu")
    source = RunPaths(tmp_path / "mixed").model
    spec = make_spec("adapters", **SHORT).model_copy(update={"initial_run": first.fingerprint})
    train_run(spec, toy_task, tmp_path / "adapters", initial=source, device="cpu")
    before, after = load_model(source), load_model(RunPaths(tmp_path / "adapters").model)
    assert before.keys() == {name for name in after if not is_adapter(name)}
    assert all(torch.equal(after[name], value) for name, value in before.items())
    assert all(value.any() for name, value in after.items() if name.endswith("adapters.up.weight"))
