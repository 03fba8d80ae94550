"""A run that starts from another one's weights: they are all used, once, and only those that were planned."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from mdnmt.checkpoints.weights import load_model, save_model
from mdnmt.errors import CheckpointError, Interrupted
from mdnmt.fingerprint import sha256_file
from mdnmt.models.projection import Linear, MixedLinear
from mdnmt.paths import RunPaths
from mdnmt.train.initialise import InitialWeights, initialise, read_initial
from mdnmt.train.run import train_run
from mdnmt.train.trainer import RuntimeOptions

SHORT = {"max_updates": 4, "validate_every": 2, "average_checkpoints": 0, "validation_bleu_sentences": 0}


def start(weights: dict[str, torch.Tensor]) -> InitialWeights:
    return InitialWeights(Path("model.safetensors"), "0" * 64, weights)


def test_with_equal_copies_the_mixed_model_is_the_plain_one(random_method: Any, make_batch: Any) -> None:
    plain = random_method("transformer", seed=1).model
    batch = make_batch([[5, 6, 2], [7, 8, 9, 2]], [[12, 13, 2], [15, 2]], [0, 2])
    for options in ({}, {"mix_out_projection": False}, {"mixed_sides": "encoder"}, {"labels": "unused_frozen"}):
        model = random_method("waldm", seed=2, num_domains=3, **options).model
        before = {name: value.clone() for name, value in model.state_dict().items()}
        assert not torch.allclose(model(batch).logits(), plain(batch).logits())
        initialise(model, start(plain.state_dict()))
        # sum_j D_j(x) (W x + b) = W x + b, since the D_j sum to one.
        assert torch.allclose(model(batch).logits(), plain(batch).logits(), rtol=1e-9, atol=1e-10)
        for name, value in model.state_dict().items():
            assert torch.equal(value, before[name]) == ("conditioner" in name), name


@pytest.mark.parametrize(("in_dim", "out_dim"), [(5, 7), (6, 6), (7, 5)])
def test_a_plain_projection_is_copied_into_every_domain(in_dim: int, out_dim: int) -> None:
    plain, mixed = Linear(in_dim, out_dim), MixedLinear(in_dim, out_dim, num_domains=3)
    torch.nn.init.normal_(plain.bias)
    for name, value in plain.state_dict().items():
        assert mixed.plain_shape(name) == value.shape
        mixed.load_plain(name, value)
    for domain in range(3):
        assert torch.equal(mixed.domain_weight(domain), plain.weight)
        assert torch.equal(mixed.bias[domain], plain.bias)
    assert mixed.weight.requires_grad


def test_tied_embeddings_stay_tied(random_method: Any) -> None:
    plain = random_method("transformer", seed=1, share_embeddings="all").model
    model = random_method("waldm", seed=2, share_embeddings="all").model
    initialise(model, start(plain.state_dict()))
    assert model.output_weight is model.source_embedding.weight
    assert torch.equal(model.output_weight, plain.output_weight)


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        ({"encoder.layers.9.ffn.first.weight": torch.zeros(2, 3)}, "no tensor of this name"),
        ({"encoder.layers.0.ffn.first.bias": torch.zeros(25)}, r"has the shape \[25\], .* shape \[2, 24\]"),
        ({"encoder.layers.0.ffn.first.weight": torch.zeros(16, 24)}, r"shape \[24, 2, 16\]"),
    ],
)
def test_a_tensor_without_a_place_is_one_line(random_method: Any, weights: Any, said: str) -> None:
    with pytest.raises(CheckpointError, match=said) as caught:
        initialise(random_method("waldm").model, start(weights))
    assert "\n" not in str(caught.value) and "model.safetensors" in str(caught.value)


def test_the_file_must_be_that_of_the_planned_run(make_spec: Any, tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    save_model(path, {"a": torch.zeros(2)}, {"run": "12345678"})
    spec = make_spec()
    planned = spec.model_copy(update={"initial_run": "12345678"})
    other = spec.model_copy(update={"initial_run": "87654321"})
    assert len({one.fingerprint for one in (spec, planned, other)}) == 3
    assert read_initial(spec, None) is None
    found = read_initial(planned, path)
    assert found is not None and found.sha256 == sha256_file(path) and set(found.weights) == {"a"}
    for one, file, said in (
        (other, path, "holds the model of run 12345678"),
        (spec, path, "planned to start from no other run"),
        (planned, None, "found no file"),
        (planned, tmp_path / "none", "missing file"),
    ):
        with pytest.raises(CheckpointError, match=said) as caught:
            read_initial(one, file)
        assert "\n" not in str(caught.value)


@pytest.mark.slow
def test_a_run_starts_from_another_and_goes_on_from_itself(make_spec: Any, toy_task: Path, tmp_path: Path) -> None:
    first = make_spec("transformer", **SHORT)
    train_run(first, toy_task, tmp_path / "mixed", device="cpu")
    source = RunPaths(tmp_path / "mixed").model
    spec = make_spec("waldm", **SHORT).model_copy(update={"initial_run": first.fingerprint})

    train_run(spec, toy_task, tmp_path / "whole", initial=source, device="cpu")
    # It stopped after its first update: on starting again the weights of the other run are not taken once more.
    with pytest.raises(Interrupted):
        runtime = RuntimeOptions(save_every_updates=1, stop_after_minutes=0.0)
        train_run(spec, toy_task, tmp_path / "parts", initial=source, device="cpu", runtime=runtime)
    train_run(spec, toy_task, tmp_path / "parts", initial=source, device="cpu")
    whole, parts = RunPaths(tmp_path / "whole"), RunPaths(tmp_path / "parts")
    assert whole.model.read_bytes() == parts.model.read_bytes()
    record = json.loads(whole.record.read_text())
    assert record["spec"]["initial_run"] == first.fingerprint
    assert record["provenance"]["initial_model_sha256"] == sha256_file(source)
    # After four small updates the copies still stand near the weights that they were made of.
    found, origin = load_model(whole.model), load_model(source)
    copies = found["encoder.layers.0.attention.qkv.weight"]
    for domain in range(2):
        plain = origin["encoder.layers.0.attention.qkv.weight"]
        assert 0 < (copies[:, domain] - plain).abs().max() < 0.05 < plain.abs().max()
