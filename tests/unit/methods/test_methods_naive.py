"""The naive re-implementation of WALDM: it computes what it says, and fails as it is said to fail (Phan 2022)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from against_reference import TOLERANCE, both_types, gradients, reached
from chosen_cases import chosen_cases
from reference import losses as slow_losses
from reference import naive_waldm as slow
from reference.transformer import Shape
from torch import Tensor

from mdnmt.checkpoints.weights import load_model, save_model
from mdnmt.config.method import load_method
from mdnmt.config.paper import load_paper
from mdnmt.decode.translator import Translator
from mdnmt.methods import build, validate
from mdnmt.methods.method import VocabSizes
from mdnmt.models.naive_mixing import KIND, HiddenLinears
from mdnmt.paths import RunPaths
from mdnmt.tasks.task_data import TaskData
from mdnmt.train.device import make_deterministic
from mdnmt.train.run import build_method, train_run
from mdnmt.train.validation import Validation

CONFIG = Path(__file__).resolve().parents[3] / "config"
SOURCES, TARGETS = [[5, 6, 2], [7, 8, 2]], [[12, 13, 14, 2], [15, 9, 9, 2]]


def test_the_rows_of_the_slides_are_those_of_the_naive_code() -> None:
    rows = load_paper(CONFIG, "phan2022").tables["results"].rows
    naive, proper = ([row for row in rows if (row.group == rows[0].group) is first] for first in (True, False))
    assert [row.label for row in naive] == ["direct-training", "E/DC", "E/DC-with-init", "Encoder"]
    # The first mixes nothing.
    assert [load_method(CONFIG, row.methods[0]).deliberately_broken for row in naive] == [False, True, True, True]
    assert proper and not any(load_method(CONFIG, row.methods[0]).deliberately_broken for row in proper)


def hidden_of(model: Any) -> dict[str, Tensor]:
    """Return the maps that stand in no state dictionary, by name."""
    return {
        f"{name}.linears.{j}.{part}": value.detach()
        for name, module in model.named_modules()
        if isinstance(module, HiddenLinears)
        for j, linear in enumerate(module.linears)
        for part, value in linear.named_parameters()
    }


@both_types
@pytest.mark.parametrize(
    ("sides", "norm", "k"), [("encoder", "pre", 2), ("encoder", "post", 3), ("both", "pre", 3), ("both", "post", 2)]
)
def test_output_and_losses_equal_the_reference(
    random_method: Any, make_batch: Any, sides: str, norm: str, k: int, dtype: torch.dtype
) -> None:
    options = {"mixed_sides": sides, "norm": norm, "proportion_smoothing": 0.07, "label_smoothing": 0.13}
    method = random_method("naive_waldm", num_domains=k, dtype=dtype, **options)
    batch, labels = make_batch(SOURCES, TARGETS, [k - 1, 0]), [k - 1, 0]
    output = method.model(batch)
    weights = {**method.model.state_dict(), **hidden_of(method.model)}
    weights = {name: value.double() for name, value in weights.items()}
    mixings, expected_loss = [], 0.0
    for source, target, found in zip(SOURCES, TARGETS, output.logits().split(4), strict=True):
        mixing = slow.Mixing(k, 0.07, sides == "both")
        expected = slow.logits(weights, source, [1, *target[:-1]], Shape(2, 2, 2, norm), mixing)
        assert ((found.double() - expected).abs().max() / expected.abs().max()).item() < TOLERANCE[dtype]
        expected_loss += slow_losses.label_smoothed_cross_entropy(expected, target, 0.13)
        mixings.append(mixing)
    generation, proportion = (loss(output, batch).item() for loss in method.losses)
    assert generation == pytest.approx(expected_loss, rel=TOLERANCE[dtype])
    assert proportion == pytest.approx(slow.proportion_loss(mixings, labels), rel=TOLERANCE[dtype])
    # Two layers with D of Q and of the feed-forward block; in the decoder also of the queries of cross-attention.
    assert len(mixings[0].layers) == (6 if sides == "both" else 4)
    assert not output.context.recorded(KIND, "encoder" if sides == "both" else "decoder")


def test_its_loss_counts_padding(random_method: Any, make_batch: Any) -> None:
    method = random_method("naive_waldm", mixed_sides="encoder")
    alone, beside = make_batch([[5, 2]], [[6, 2]], [0]), make_batch([[5, 2], [7, 8, 9, 2]], [[6, 2], [6, 2]], [0, 1])
    other = make_batch([[7, 8, 9, 2]], [[6, 2]], [1])

    def of(batch: Any) -> float:
        return float(method.losses[1](method.model(batch), batch).item())

    assert of(beside) > of(alone) + of(other) + 0.1


def test_nothing_is_detached(random_method: Any, make_batch: Any) -> None:
    method = random_method("naive_waldm")
    batch = make_batch(SOURCES, TARGETS, [1, 0])
    generation, proportion = (reached(gradients(method, batch, loss.name)) for loss in method.losses)
    assert generation == set(dict(method.model.named_parameters()))  # every R among them
    assert {"source_embedding.weight", "encoder.layers.0.attention.out.weight"} <= proportion


@pytest.mark.parametrize("sides", ["encoder", "both"])
def test_no_domain_map_is_a_parameter_or_is_saved(random_method: Any, sides: str) -> None:
    method = random_method("naive_waldm", num_domains=3, mixed_sides=sides)
    hidden = hidden_of(method.model)
    # Two layers a side: 3 maps of self-attention, 3 of cross-attention, 2 of the feed-forward block; weight and bias.
    assert len(hidden) == 2 * 3 * 2 * (5 if sides == "encoder" else 5 + 8)
    held = {parameter.data_ptr() for parameter in method.model.parameters()}
    assert not held & {value.data_ptr() for value in hidden.values()}
    assert not set(hidden) & set(method.model.state_dict())
    # They follow the model all the same: a missing device or precision would be noticed at once, and mended.
    assert {value.dtype for value in hidden.values()} == {torch.float64}


def first_values(initialisation: str, sides: str, tied: str) -> tuple[Any, dict[str, Tensor]]:
    """Return a model as it starts, and its hidden maps."""
    sizes = {"model_dim": 24, "ffn_dim": 40, "num_heads": 2, "encoder_layers": 1, "decoder_layers": 1}
    options = {**sizes, "initialisation": initialisation, "mixed_sides": sides, "share_embeddings": tied}
    torch.manual_seed(3)
    model = build("naive_waldm", validate("naive_waldm", options, where="test"), VocabSizes(50, 50, True), 2).model
    return model, hidden_of(model)


@pytest.mark.parametrize("tied", ["none", "all"])
@pytest.mark.parametrize("sides", ["encoder", "both"])
def test_initialisation_reaches_what_is_found_in_the_model_alone(sides: str, tied: str) -> None:
    (plain, hidden), (xavier, hidden_too) = (first_values(name, sides, tied) for name in ("default", "xavier"))
    assert hidden and all(value.equal(hidden_too[name]) for name, value in hidden.items())
    for name, value in hidden.items():
        bound = (40 if "second" in name else 24) ** -0.5  # torch.nn.Linear: within 1 / sqrt(in)
        assert 0.6 * bound < value.abs().max() <= bound
    others = dict(plain.named_parameters())
    for name, value in xavier.named_parameters():
        if value.dim() < 2:
            assert value.equal(others[name])
            continue
        bound = (6 / (value.size(0) + value.size(1))) ** 0.5  # Glorot and Bengio 2010, eq. 16
        assert 0.9 * bound < value.abs().max() <= bound, name
        assert not value.equal(others[name])
        if "position" in name or ("embedding" in name and tied == "none"):
            assert others[name].std().item() == pytest.approx(1, abs=0.1), name
        else:
            assert 0.7 * value.size(1) ** -0.5 < others[name].abs().max() <= value.size(1) ** -0.5, name


def test_a_reloaded_model_computes_something_else(random_method: Any, make_batch: Any, tmp_path: Path) -> None:
    batch = make_batch(SOURCES, TARGETS, [1, 0])
    differences = {}
    for builder in ("naive_waldm", "waldm"):
        model = random_method(builder, seed=1).model
        save_model(tmp_path / builder, model.state_dict())
        other = random_method(builder, seed=2).model
        other.load_state_dict(load_model(tmp_path / builder))
        differences[builder] = (other(batch).logits() - model(batch).logits()).abs().max().item()
    assert differences["waldm"] == 0.0
    assert differences["naive_waldm"] > 0.1


@pytest.mark.slow
@pytest.mark.parametrize("builder", chosen_cases(["naive_waldm", "waldm"], "naive_waldm"))
def test_what_was_validated_is_not_what_is_loaded(make_spec: Any, toy_task: Path, tmp_path: Path, builder: str) -> None:
    spec = make_spec(builder, max_updates=3, validate_every=3, average_checkpoints=0)
    train_run(spec, toy_task, tmp_path / "run", device="cpu")
    paths, data = RunPaths(tmp_path / "run"), TaskData.load(toy_task)
    assert not any("linears" in name for name in load_model(paths.model))
    make_deterministic(0, None)  # as `mdnmt decode` does, in a process of its own
    loaded = Translator(tmp_path / "run", torch.device("cpu")).model
    again = Validation(data, spec.domains, spec.training, 0.1)(loaded, torch.device("cpu"), None)["all"]["loss"]
    measured = json.loads(paths.record.read_text())["validation"]["all"]["loss"]
    if builder == "waldm":
        assert again == pytest.approx(measured, rel=1e-6)
        return
    assert abs(again - measured) > 0.001
    make_deterministic(spec.seed, None)
    first, later = hidden_of(build_method(spec, data, torch.device("cpu")).model), hidden_of(loaded)
    assert all(not torch.equal(first[name], later[name]) for name in first if name.endswith("weight"))
