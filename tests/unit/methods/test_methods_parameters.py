"""Gradients reach exactly the parameters they should; every parameter is registered, trained, clipped and saved."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from mdnmt.checkpoints.weights import load_model, save_model
from mdnmt.config.training import Training
from mdnmt.errors import ConfigError
from mdnmt.methods import BUILDERS, build, validate
from mdnmt.methods.method import VocabSizes
from mdnmt.models.projection import MixedLinear
from mdnmt.train.optimiser import Optimiser

WALDM_FORMS = [
    {"mixed_sides": "encoder"},
    {"mixed_sides": "both", "norm": "post", "mix_out_projection": False},
    {"mixed_sides": "both", "share_embeddings": "all", "aux_norm": "code", "proportion_loss_on_logits": True},
]
FORMS = [("transformer", {"share_embeddings": "decoder"}), *(("waldm", form) for form in WALDM_FORMS)]


def is_proportion(name: str) -> bool:
    return "conditioner" in name


def one_batch(make_batch: Any) -> Any:
    # Every word of both vocabularies stands in it once, so that every row of the embeddings is trained.
    words = list(range(3, 29))
    return make_batch([[*words, 2], [4, 2]], [[*words, 2], [*words[::-1], 2]], [0, 1])


@pytest.mark.parametrize("form", WALDM_FORMS)
def test_each_loss_trains_its_own_parameters_and_no_other(random_method: Any, make_batch: Any, form: Any) -> None:
    method = random_method("waldm", **form)
    batch = make_batch([[5, 2], [7, 8, 9, 2]], [[6, 2], [9, 5, 8, 2]], [0, 1])
    named = dict(method.model.named_parameters())
    output = method.model(batch)
    generation, proportion = (loss(output, batch) for loss in method.losses)
    by_generation = torch.autograd.grad(generation, list(named.values()), allow_unused=True, retain_graph=True)
    by_proportion = torch.autograd.grad(proportion, list(named.values()), allow_unused=True)
    proportions = 0
    for name, one, other in zip(named, by_generation, by_proportion, strict=True):
        if is_proportion(name):
            proportions += 1
            assert one is None, f"L_gen reaches {name}"
            assert other is not None and other.any(), f"L_mix does not reach {name}"
        else:
            assert one is not None and one.any(), f"L_gen does not reach {name}"
            assert other is None, f"L_mix reaches {name}"
    assert proportions == 2 * (2 if form["mixed_sides"] == "encoder" else 5)


@pytest.mark.parametrize(("builder", "form"), FORMS)
def test_clip_groups_hold_each_parameter_exactly_once(random_method: Any, builder: str, form: Any) -> None:
    method = random_method(builder, **form)
    groups = method.clip_groups()
    names = {id(parameter): name for name, parameter in method.model.named_parameters()}
    held = [names[id(parameter)] for group in groups for parameter in group]
    assert sorted(held) == sorted(names.values())
    if builder == "waldm":
        assert len(groups) == 2
        assert all(is_proportion(names[id(parameter)]) for parameter in groups[1])
        assert not any(is_proportion(names[id(parameter)]) for parameter in groups[0])
        together = random_method("waldm", clip_proportions_apart=False, **form)
        [group] = together.clip_groups()
        assert len(group) == len(names)


@pytest.mark.parametrize(("builder", "form"), FORMS)
def test_every_parameter_is_registered_trained_and_saved(
    random_method: Any, make_batch: Any, tmp_path: Path, builder: str, form: Any
) -> None:
    method = random_method(builder, dtype=torch.float32, dropout=0.1, **form)
    model = method.model
    assert_no_tensor_hides(model)
    before = copy.deepcopy(model.state_dict())
    optimiser = Optimiser(model, Training(weight_decay=0.0))
    batch = one_batch(make_batch)
    model.train()
    for _ in range(4):
        output = model(batch)
        torch.stack([loss(output, batch) for loss in method.losses]).sum().backward()
        optimiser.step(1e-3)
    model.eval()
    for name, value in model.state_dict().items():
        moved = value != before[name]
        if name.endswith("embedding.weight"):
            moved = moved[3:29]  # special words and those that only the larger source vocabulary has are not read
        assert moved.float().mean() > 0.9, f"{name} stands still"
    save_model(tmp_path / "model.safetensors", model.state_dict())
    other = random_method(builder, seed=99, dtype=torch.float32, dropout=0.1, **form)
    other.model.load_state_dict(load_model(tmp_path / "model.safetensors"))
    assert torch.equal(other.model(batch).logits(), model(batch).logits())
    for name, value in model.state_dict().items():
        assert torch.equal(other.model.state_dict()[name], value)


def assert_no_tensor_hides(model: nn.Module) -> None:
    """Fail for a parameter or module kept in a plain list or dictionary, where torch does not see it."""
    registered = {id(parameter) for parameter in model.parameters()} | {id(buffer) for buffer in model.buffers()}
    modules = set(map(id, model.modules()))
    for module in model.modules():
        for name, value in vars(module).items():
            if name.startswith("_"):
                continue
            items = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else [value]
            for item in items:
                if isinstance(item, nn.Module):
                    assert id(item) in modules, f"{type(module).__name__}.{name} hides a module"
                if isinstance(item, torch.Tensor):
                    assert id(item) in registered, f"{type(module).__name__}.{name} hides a tensor"


def transformer_size(d: int, f: int, layers: int, vocab: int) -> int:
    attention = 4 * (d * d + d)
    ffn = d * f + f + f * d + d
    norm = 2 * d
    encoder = layers * (attention + ffn + 2 * norm)
    decoder = layers * (2 * attention + ffn + 3 * norm)
    return 3 * vocab * d + encoder + decoder


@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("mix_out", [True, False])
def test_the_size_of_the_published_configuration_follows_from_the_equations(k: int, mix_out: bool) -> None:
    d, f, layers, vocab = 512, 1024, 6, 10_000
    options = {"model_dim": d, "ffn_dim": f, "num_heads": 4, "norm": "post", "mix_out_projection": mix_out}

    def size(builder: str, **more: Any) -> int:
        chosen = {key: value for key, value in options.items() if builder == "waldm" or key != "mix_out_projection"}
        with torch.device("meta"):
            config = validate(builder, {**chosen, **more}, where="test")
            method = build(builder, config, VocabSizes(vocab, vocab, False), k)
        return sum(parameter.numel() for parameter in method.model.parameters())

    plain = transformer_size(d, f, layers, vocab)
    assert size("transformer") == plain
    # k - 1 further copies of every mixed matrix and bias (sec. 3.2), and one R with its bias a proportion layer.
    attention = (4 if mix_out else 3) * (d * d + d)
    ffn = d * f + f + f * d + d
    encoder_more = (k - 1) * layers * (attention + ffn)
    decoder_more = (k - 1) * layers * (2 * attention + ffn)
    proportion = k * d + k
    assert size("waldm", mixed_sides="encoder") == plain + encoder_more + layers * proportion
    assert size("waldm") == plain + encoder_more + decoder_more + (2 * layers + 1) * proportion


def test_which_projections_are_mixed(random_method: Any) -> None:
    def mixed(**options: Any) -> set[str]:
        model = random_method("waldm", encoder_layers=1, decoder_layers=1, **options).model
        return {name for name, module in model.named_modules() if isinstance(module, MixedLinear)}

    encoder = {f"encoder.layers.0.{name}" for name in ("attention.qkv", "attention.out", "ffn.first", "ffn.second")}
    decoder = {
        f"decoder.layers.0.{name}"
        for name in (
            "self_attention.qkv",
            "self_attention.out",
            "cross_attention.query",
            "cross_attention.key_value",
            "cross_attention.out",
            "ffn.first",
            "ffn.second",
        )
    }
    assert mixed(mixed_sides="encoder") == encoder
    assert mixed() == encoder | decoder
    assert mixed(mix_out_projection=False) == {name for name in encoder | decoder if not name.endswith("out")}


@pytest.mark.parametrize(("share", "tables"), [("none", 3), ("decoder", 2), ("all", 1)])
def test_tied_embeddings_are_one_parameter(random_method: Any, share: str, tables: int) -> None:
    model = random_method("transformer", share_embeddings=share).model
    weights = [model.source_embedding.weight, model.target_embedding.weight, model.output_weight]
    assert len({id(weight) for weight in weights}) == tables
    untied = random_method("transformer", vocab=33).model
    rest = sum(p.numel() for p in untied.parameters()) - (33 + 4 + 2 * 33) * 16
    assert sum(p.numel() for p in model.parameters()) == rest + sum(
        w.numel() for w in {id(w): w for w in weights}.values()
    )
    if tables < 3:
        assert model.target_embedding.weight is model.output_weight


@pytest.mark.parametrize(
    ("builder", "options", "message"),
    [
        ("wladm", {}, "no builder 'wladm'"),
        ("transformer", {"model_dim": 30, "num_heads": 4}, "not a multiple of num_heads"),
        ("transformer", {"mixed_sides": "both"}, "unknown key"),
        ("waldm", {"mixed_sides": "encodr"}, "expected one of encoder, both"),
        ("waldm", {"proportion_smoothing": 1.0}, "less than 1"),
    ],
)
def test_a_mistake_in_an_architecture_is_one_line(builder: str, options: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        validate(builder, options, where="methods/x.yaml")
    assert "\n" not in str(caught.value)
    assert "methods/x.yaml" in str(caught.value)


def test_two_vocabularies_cannot_be_tied_as_one() -> None:
    config = validate("transformer", {"share_embeddings": "all"}, where="test")
    with pytest.raises(ConfigError, match="joint: true"):
        build("transformer", config, VocabSizes(10, 11, False), 2)


def test_this_file_knows_every_builder() -> None:
    assert {builder for builder, _ in FORMS} == set(BUILDERS)
