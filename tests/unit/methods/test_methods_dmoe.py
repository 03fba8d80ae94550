"""DAMHA and DMoE equal their slow reference; gradients, labels, schedule and sizes are those of the paper."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from against_reference import TOLERANCE, both_types, gradients, num_parameters, reached, relative_error, sentences
from reference import dmoe as slow
from reference.transformer import Shape
from torch import Tensor

from mdnmt.config.method import load_method
from mdnmt.errors import ConfigError
from mdnmt.methods import build, validate
from mdnmt.methods.method import Method, VocabSizes
from mdnmt.models.gate import Gate

CONFIG = Path(__file__).resolve().parents[3] / "config"
SMOOTHING = 0.13
# The rows of Table 6 but for the first, which is the plain Transformer.
TABLE_6 = {
    "damha": "+DAMHA",
    "dmoe-domain": "+DMoE (Domain-only)",
    "damha-moe-domain": "+DAMHA+MoE (Domain-only)",
    "damha-dmoe-domain": "+DAMHA+DMoE (Domain-only)",
    "damha-dmoe-domain-lb1": "+DAMHA+DMoE (Domain-only)+Lb1",
    "damha-dmoe-domain-lb2": "+DAMHA+DMoE (Domain-only)+Lb2",
    "damha-dmoe-domain-loss": "+DAMHA+DMoE (Domain-only)+Loss",
    "dmoe-mix": "+DMoE (mix)",
    "damha-moe-mix": "+DAMHA+MoE (mix)",
    "damha-dmoe-mix": "+DAMHA+DMoE (mix)",
    "damha-dmoe-mix-lb1": "+DAMHA+DMoE (mix)+Lb1",
    "damha-dmoe-mix-lb2": "+DAMHA+DMoE (mix)+Lb2",
    "damha-dmoe-mix-loss": "+DAMHA+DMoE (mix)+Loss",
}
# Not in the paper: DAMHA whose gate reads the label.
LABEL_GATES = ["damha-gate-domain", "damha-gate-mix"]
PARAMFIT = ["damha-dmoe-domain-paramfit", "damha-dmoe-mix-paramfit"]
FILES = [*TABLE_6, *PARAMFIT, *LABEL_GATES]
CASES: list[tuple[str, int, str, dict[str, Any]]] = [
    # Every file with one of two numbers of domains and norm orders, in turn, then each option that no file sets.
    *((name, 2, "pre", {}) for name in FILES[::2]),
    *((name, 3, "post", {}) for name in FILES[1::2]),
    ("damha", 3, "pre", {"top_k": 1, "gate": "linear"}),
    ("damha-moe-domain", 3, "pre", {"top_k": 1, "num_experts": 4}),
    ("damha-moe-mix", 3, "post", {"damha_targets": "qkv", "num_experts": 4, "top_k": 3}),
    ("damha-dmoe-mix-loss", 2, "post", {"fusion": "concat", "num_experts": 5, "entropy_weight": 0.7}),
    ("damha-dmoe-domain-loss", 3, "pre", {"domain_gate": "ffn", "alpha_fix": True, "label_smoothing": 0.0}),
    ("damha-dmoe-domain", 3, "pre", {"damha_gate_input": "domain", "domain_gate": "ffn", "damha_targets": "qkv"}),
    ("damha-dmoe-mix-loss", 3, "post", {"damha_gate_input": "mix", "fusion": "concat", "top_k": 1}),
]


SOURCES, TARGETS = sentences([2, 5, 1], 1), sentences([4, 1, 5], 2)


@pytest.fixture
def make(random_method: Any) -> Any:
    """Return a function (name, k, **more) that builds the method of a file at toy size."""

    def make(name: str, k: int, **more: Any) -> Method:
        architecture = load_method(CONFIG, name).architecture
        sizes = {"model_dim": 8, "ffn_dim": 6, "label_smoothing": SMOOTHING}
        method: Method = random_method("dmoe", num_domains=k, **{**sizes, **architecture, **more})
        return method

    return make


@both_types
@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join([case[0], str(case[1]), case[2], *case[3]]))
def test_dmoe_equals_its_reference(make: Any, make_batch: Any, case: Any, dtype: torch.dtype) -> None:
    name, k, norm, more = case
    options = {**load_method(CONFIG, name).architecture, **more}
    method = make(name, k, norm=norm, dtype=dtype, **more)
    method.begin_update(3, 10)
    labels = [k - 1, 0, 1]
    batch = make_batch(SOURCES, TARGETS, labels)
    weights = {key: value.detach().double() for key, value in method.model.state_dict().items()}
    mix = slow.Mixture(
        damha=options.get("damha_targets", "v") if options["damha"] else "",
        damha_reads=options.get("damha_gate_input", "token"),
        ffn=options["encoder_ffn"],
        mixes=options.get("gate_input") == "mix",
        fusion=options.get("fusion", "add"),
        top_k=options.get("top_k", 2),
    )
    shape = Shape(num_heads=2, encoder_layers=2, decoder_layers=2, norm=norm)
    eps = options.get("label_smoothing", SMOOTHING)
    output = method.model(batch)
    found = output.logits().split([len(target) for target in TARGETS])
    records, generation = [], 0.0
    for row, (source, target, domain) in enumerate(zip(SOURCES, TARGETS, labels, strict=True)):
        expected, record = slow.logits(weights, source, [1, *target[:-1]], domain, shape, mix)
        assert relative_error(found[row], expected) < TOLERANCE[dtype]
        generation += slow.generation_loss(expected, target, eps)
        records.append(record)
    # alpha L_lb counts once an update (eq. 14): the trainer divides what it is given by the target words.
    words = sum(map(len, TARGETS))
    alpha = slow.alpha(3, 0, 10, 0.1, 0.01) + (0.01 if options.get("alpha_fix") else 0.0)
    expected_losses = {"generation": generation}
    if options.get("balance_losses") in ("lb1", "both"):
        expected_losses["balance"] = alpha * words * slow.balance_loss(records)
    if options.get("balance_losses") in ("lb2", "both"):
        expected_losses["entropy"] = alpha * words * slow.entropy_loss(records, options.get("entropy_weight", 1.0))
    assert [loss.name for loss in method.losses] == list(expected_losses)
    for loss in method.losses:
        value = loss(output, batch)
        assert value.dtype == dtype
        assert value.item() == pytest.approx(expected_losses[loss.name], rel=TOLERANCE[dtype])


def test_there_is_a_file_for_every_row_of_table_6() -> None:
    assert {name: load_method(CONFIG, name).label for name in TABLE_6} == TABLE_6


@pytest.mark.parametrize("name", [*TABLE_6, *LABEL_GATES])
def test_the_label_is_asked_for_exactly_where_it_is_used(make: Any, make_batch: Any, name: str) -> None:
    method = make(name, 2)
    one, other = (method.model(make_batch(SOURCES, TARGETS, [domain] * 3)).logits() for domain in (0, 1))
    assert method.needs_domain == (not torch.equal(one, other)) == (name != "damha")


@pytest.mark.parametrize("name", [*TABLE_6, *PARAMFIT])
def test_what_the_gates_leave(make: Any, make_batch: Any, name: str) -> None:
    k = 3
    context = make(name, k).model(make_batch(SOURCES, TARGETS, [0, 1, 0])).context
    gates = context.recorded("gate", "encoder")
    assert len(gates) == (0 if name == "damha" else 2)
    for gate_BTN in gates:
        assert gate_BTN.shape == (3, 5 if "mix" in name else 1, k)
        assert torch.allclose(gate_BTN.sum(-1), torch.ones(()).double())
        assert ((gate_BTN > 0).sum(-1) == (2 if "-moe" in name else k)).all()
        assert "mix" in name or (torch.equal(gate_BTN[0], gate_BTN[2]) and not torch.equal(gate_BTN[0], gate_BTN[1]))


def test_gates_are_float32_under_autocast(make: Any, make_batch: Any) -> None:
    method = make("damha-dmoe-mix-loss", 2, dtype=torch.float32)
    batch = make_batch(SOURCES, TARGETS, [0, 1, 0])
    with torch.autocast("cpu", torch.bfloat16):
        output = method.model(batch)
        assert all(gate.dtype == torch.float32 for gate in output.context.recorded("gate", "encoder"))
        assert all(loss(output, batch).dtype == torch.float32 for loss in method.losses)


@pytest.mark.parametrize("name", ["damha", *LABEL_GATES, "damha-moe-domain", "damha-moe-mix"])
def test_experts_that_no_word_chooses_get_no_gradient(make: Any, make_batch: Any, name: str) -> None:
    method = make(name, 2, num_experts=6, top_k=1)
    gates: dict[str, Tensor] = {}
    for key, module in method.model.named_modules():
        if isinstance(module, Gate):
            module.register_forward_hook(lambda _, __, gate, key=key: gates.update({key: gate}))
    batch = make_batch([[5, 9, 2]], [[7, 8, 2]], [1])
    output = method.model(batch)
    method.losses[0](output, batch).backward()
    assert len(gates) == (4 if "-moe" in name else 2)
    for key, gate_BTN in gates.items():
        used = (gate_BTN > 0).any(0).any(0).tolist()
        assert 1 <= sum(used) <= 3
        parent = method.model.get_submodule(key.rpartition(".")[0])
        experts = parent.experts[0] if isinstance(parent.experts, torch.nn.ModuleList) else parent.experts
        for i, is_used in enumerate(used):
            weights = [experts.first_weight.grad[i], experts.first_bias.grad[i], experts.second_weight.grad[:, i]]
            assert experts.second_bias.grad[i].any() == is_used, f"{key}, expert {i}"
            assert is_used or not any(part.any() for part in weights), f"{key}, expert {i}"


def test_scores_of_experts_that_are_not_chosen_get_no_gradient(make: Any, make_batch: Any) -> None:
    method = make("damha-moe-domain", 2, num_experts=5, top_k=2)
    batch = make_batch(SOURCES, TARGETS, [1, 1, 1])
    output = method.model(batch)
    method.losses[0](output, batch).backward()
    for layer, gate_BTN in zip(method.model.encoder.layers, output.context.recorded("gate", "encoder"), strict=True):
        assert torch.equal(layer.ffn.gate.scores.bias.grad != 0, gate_BTN[0, 0] > 0)


@pytest.mark.parametrize("reads", ["token", "domain", "mix"])
def test_what_the_gate_of_attention_reads_is_what_its_weights_are_trained_by(
    make: Any, make_batch: Any, reads: str
) -> None:
    method = make("damha-dmoe-domain", 3, damha_gate_input=reads, num_experts=4)
    gates: list[Tensor] = []
    for layer in method.model.encoder.layers:
        layer.attention.qkv.gate.register_forward_hook(lambda _, __, gate: gates.append(gate))
    batch = make_batch(SOURCES, TARGETS, [0, 2, 0])
    output = method.model(batch)
    assert [gate.shape[1] for gate in gates] == [1 if reads == "domain" else 5] * 2
    if reads == "domain":  # one gate for all sentences of a domain
        assert all(torch.equal(gate[0], gate[2]) and not torch.equal(gate[0], gate[1]) for gate in gates)
    # One vector for each domain serves attention and feed-forward blocks; that of an absent domain is not trained.
    weights = {id(layer.ffn.domain.weight) for layer in method.model.encoder.layers}
    if reads != "token":
        weights |= {id(layer.attention.qkv.domain.weight) for layer in method.model.encoder.layers}
    assert len(weights) == 1
    # The losses of eq. 12 and 13 are on the gates of DMoE alone.
    assert len(output.context.recorded("gate", "encoder")) == 2
    (gates[-1] * torch.arange(4)).sum().backward()
    trained = method.model.encoder.layers[0].ffn.domain.weight.grad
    assert trained.any(1).tolist() == [True, False, True]


@pytest.mark.parametrize("mode", ["domain", "mix"])
def test_what_the_balancing_losses_train(make: Any, make_batch: Any, mode: str) -> None:
    method = make(f"damha-dmoe-{mode}-loss", 2)
    batch = make_batch(SOURCES, TARGETS, [0, 1, 1])
    names = set(dict(method.model.named_parameters()))
    generation, balance, entropy = (reached(gradients(method, batch, loss.name)) for loss in method.losses)
    assert generation == names
    if mode == "domain":  # the gates read nothing but the domain's vector
        expected = {name for name in names if ".ffn.gate." in name} | {"encoder.layers.0.ffn.domain.weight"}
    else:  # everything before the last gate, and nothing behind it
        behind = ("decoder.", "target_embedding.", "output_weight", "encoder.norm.", "encoder.layers.1.ffn.experts.")
        expected = {name for name in names if not name.startswith(behind)}
    assert balance == entropy == expected


def test_the_factor_of_the_losses_follows_the_update(make: Any) -> None:
    method = make("damha-dmoe-mix-loss", 2, alpha_start_update=20, alpha_end_update=80, alpha_high=0.5, alpha_low=0.1)
    [alpha] = method.schedules
    for update in (1, 19, 20, 23, 35, 50, 77, 80, 100):
        method.begin_update(update, 100)
        assert alpha.value.item() == pytest.approx(slow.alpha(update, 20, 80, 0.5, 0.1))
    method.begin_update(50, 100)
    assert alpha.value.item() == pytest.approx(0.4)  # the peak of eq. 15 is H - L
    lifted = make("damha-dmoe-mix-loss", 2, alpha_fix=True)
    lifted.begin_update(50, 100)
    assert lifted.schedules[0].value.item() == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"encoder_ffn": "moe", "balance_losses": "lb1"}, "needs encoder_ffn: dmoe"),
        ({"alpha_start_update": 5, "alpha_end_update": 5}, "not after"),
        ({"top_k": 3}, "3 experts are to work for a word, but there are 2"),
        ({"gate_input": "words"}, "expected one of domain, mix"),
        ({"damha": False, "damha_gate_input": "mix"}, "damha_gate_input mix needs damha: true"),
    ],
)
def test_a_mistake_is_one_line(options: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        build("dmoe", validate("dmoe", options, where="methods/x.yaml"), VocabSizes(9, 9, False), 2)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "more", "millions"),
    [
        ("damha-dmoe-domain-paramfit", {}, 273),  # Table 4
        ("damha-dmoe-mix-paramfit", {}, 273),  # Table 4
        # Eq. 8 by the letter has experts for V alone: no choice of gates comes near what Table 4 prints.
        ("damha-dmoe-domain", {"gate": "linear"}, 176),
        ("damha-dmoe-domain", {}, 182),
        ("damha-dmoe-mix", {}, 188),
    ],
)
def test_the_size_of_the_published_configuration(name: str, more: Any, millions: int) -> None:
    assert round(num_parameters("dmoe", **{**load_method(CONFIG, name).architecture, **more}) / 1e6) == millions
