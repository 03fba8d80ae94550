"""The other rows of WALDM: the weighted loss, no labels, and L_mix that reaches the Transformer (Jiang et al. 2020)."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from against_reference import TOLERANCE, both_norms, both_types, gradients, reached, relative_error, weights_of
from reference import losses as slow_losses
from reference import transformer as slow_transformer
from reference import waldm as slow_waldm
from reference import word_context as slow_words
from reference.multitask import sentence_loss
from torch import Tensor

from mdnmt.errors import ConfigError
from mdnmt.methods import validate
from mdnmt.models import proportion as proportion_module
from mdnmt.models.context import DomainContext
from mdnmt.models.gradient_reversal import GradientLink
from mdnmt.models.projection import MixedLinear
from mdnmt.models.proportion import DomainProportion

SOURCES, TARGETS, LABELS = [[5, 6, 2], [7, 8, 9, 10, 2]], [[12, 13, 14, 2], [15, 9, 2]], [1, 0]
SHORT_SOURCES, SHORT_TARGETS = [[5, 6, 2], [7, 8, 2]], [[12, 13, 2], [15, 9, 2]]

CASES: list[dict[str, Any]] = [
    {"mixed_sides": "encoder", "weighted_loss": "aligned", "norm": "pre", "k": 2},
    {"mixed_sides": "both", "weighted_loss": "aligned", "norm": "post", "k": 3},
    {"mixed_sides": "both", "weighted_loss": "misaligned", "norm": "pre", "k": 2, "aux_norm": "code"},
    {"mixed_sides": "encoder", "labels": "unused_open", "norm": "post", "k": 3},
    {"mixed_sides": "both", "labels": "unused_open", "norm": "pre", "k": 2},
    {"mixed_sides": "encoder", "labels": "unused_frozen", "norm": "pre", "k": 3},
    {"mixed_sides": "both", "labels": "unused_frozen", "norm": "post", "k": 2},
    {"mixed_sides": "encoder", "input_link": "pass", "norm": "post", "k": 2},
    {"mixed_sides": "both", "input_link": "reverse", "norm": "pre", "k": 3},
    {"mixed_sides": "both", "input_link": "half", "norm": "post", "k": 3},
]


def shape_of(norm: str) -> slow_transformer.Shape:
    return slow_transformer.Shape(num_heads=2, encoder_layers=2, decoder_layers=2, norm=norm)


@both_types
@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(map(str, case.values())))
def test_output_and_losses_equal_the_reference(
    random_method: Any, make_batch: Any, case: dict[str, Any], dtype: torch.dtype
) -> None:
    options = {**case}
    k, aux_norm = options.pop("k"), options.get("aux_norm", "text")
    method = random_method("waldm", num_domains=k, dtype=dtype, label_smoothing=0.13, **options)
    # The code's means count padding: sentences of one length there.
    sources, targets = (SHORT_SOURCES, SHORT_TARGETS) if aux_norm == "code" else (SOURCES, TARGETS)
    labels = [k - 1, 0]
    batch = make_batch(sources, targets, labels)
    output = method.model(batch)
    weights, shape = weights_of(method), shape_of(options["norm"])
    mixing = slow_waldm.Mixing(both_sides=options["mixed_sides"] == "both", smoothing=0.05, mix_out=True)
    found_rows = output.logits().split([len(target) for target in targets])
    logits, records, domain_logits, alphas = [], [], [], []
    for source, target, found in zip(sources, targets, found_rows, strict=True):
        ys, record = slow_waldm.states(weights, source, [1, *target[:-1]], shape, mixing)
        logits.append(slow_transformer.output(weights, ys))
        records.append(record)
        assert relative_error(found, logits[-1]) < TOLERANCE[dtype]
        if "weighted_loss" in case:
            of_sentence, alpha = slow_words.word_weights(weights, ys)
            domain_logits.append([of_sentence])
            alphas.append(alpha)
        else:
            alphas.append([0.0] * len(target))
    if case.get("weighted_loss") == "misaligned":
        alphas = slow_words.misaligned(alphas)
    expected = {"generation": slow_words.weighted_cross_entropy(logits, targets, alphas, 0.13)}
    if "labels" not in case:
        expected["proportion"] = slow_waldm.proportion_loss(
            records, labels, smoothing=0.05, on_logits=False, aux_norm=aux_norm
        )
    if "weighted_loss" in case:
        expected["sentence"] = sentence_loss(domain_logits, labels, aux_norm)
    found_losses = {loss.name: loss(output, batch).item() for loss in method.losses}
    assert found_losses == pytest.approx(expected, rel=TOLERANCE[dtype])
    assert list(found_losses) == list(expected)


@pytest.mark.parametrize("sides", ["encoder", "both"])
def test_the_weighted_loss_adds_a_classifier_that_nothing_else_trains(
    random_method: Any, make_batch: Any, sides: str
) -> None:
    method = random_method("waldm", mixed_sides=sides, weighted_loss="aligned")
    batch = make_batch(SOURCES, TARGETS, LABELS)
    names = {name for name, _ in method.model.named_parameters()}
    classifier = {name for name in names if name.startswith("classifiers.decoder.")}
    proportions = {name for name in names if "conditioner" in name}
    assert reached(gradients(method, batch, "sentence")) == classifier and len(classifier) == 5
    assert reached(gradients(method, batch, "proportion")) == proportions
    assert reached(gradients(method, batch, "generation")) == names - classifier - proportions
    held = {id(parameter) for parameter in method.clip_apart}
    assert {name for name, p in method.model.named_parameters() if id(p) in held} == classifier | proportions
    assert not random_method("waldm", weighted_loss="aligned", clip_proportions_apart=False).clip_apart


LINKS: tuple[GradientLink, ...] = ("detach", "pass", "reverse", "half")


def test_each_link_is_a_sign_on_the_way_back_to_the_layers_input() -> None:
    torch.manual_seed(0)
    x_BTD = torch.randn(2, 3, 6, dtype=torch.float64)
    found: dict[str, tuple[Tensor | None, Tensor, Tensor]] = {}
    for input_link in LINKS:
        torch.manual_seed(1)
        layer = DomainProportion(6, 3, smoothing=0.05, side="encoder", input_link=input_link).double()
        x, context = x_BTD.clone().requires_grad_(), DomainContext()
        out = layer(x, context)
        assert not out.requires_grad  # L_gen goes through no link
        [logits] = context.recorded("proportion", "encoder")
        logits.square().sum().backward()
        found[input_link] = (x.grad, layer.classifier.weight.grad, out)
    for _, weight_grad, out in found.values():
        assert torch.equal(weight_grad, found["pass"][1]) and torch.equal(out, found["pass"][2])
    plain = found["pass"][0]
    assert plain is not None and plain.all() and found["detach"][0] is None
    assert torch.equal(found["reverse"][0], -plain)
    assert torch.equal(found["half"][0], torch.cat([-plain[..., :3], plain[..., 3:]], dim=-1))


@both_norms
@pytest.mark.parametrize("sides", ["encoder", "both"])
def test_links_give_the_transformer_the_gradient_of_their_name(
    random_method: Any, make_batch: Any, monkeypatch: pytest.MonkeyPatch, sides: str, norm: str
) -> None:
    batch = make_batch(SOURCES, TARGETS, LABELS)

    def of_mix(input_link: str) -> dict[str, Tensor | None]:
        method = random_method("waldm", mixed_sides=sides, norm=norm, input_link=input_link)
        return gradients(method, batch, "proportion")

    def second_half(x: Tensor, _: GradientLink) -> Tensor:
        first, rest = x.chunk(2, dim=-1)
        return torch.cat([first.detach(), rest], dim=-1)

    plain, against, half, cut = of_mix("pass"), of_mix("reverse"), of_mix("half"), of_mix("detach")
    with monkeypatch.context() as patch:
        patch.setattr(proportion_module, "link_gradient", second_half)
        second = of_mix("pass")
    proportions = {name for name in plain if "conditioner" in name}
    # What stands before the input of some proportion layer: E/DC reads the encoder's output as well.
    before = {"source_embedding.weight"} | {name for name in plain if name.startswith("encoder.layers.0.")}
    if sides == "both":
        before |= {"target_embedding.weight"} | {name for name in plain if name.startswith(("encoder.", "decoder."))}
        before = {name for name in before if not name.startswith(("decoder.layers.1.", "decoder.norm."))}
    assert reached(plain) == reached(against) == reached(half) == before | proportions
    assert reached(cut) == proportions
    for name in before | proportions:
        assert plain[name] is not None
        sign = 1.0 if name in proportions else -1.0
        assert torch.allclose(against[name], sign * plain[name], rtol=1e-9, atol=1e-12), name
        # pass = first + second; half = second - first.
        expected = plain[name] if name in proportions else 2 * second[name] - plain[name]
        assert torch.allclose(half[name], expected, rtol=1e-9, atol=1e-12), name
        if name in proportions:
            assert torch.allclose(cut[name], plain[name], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("form", [{"labels": "unused_open"}, {"input_link": "pass"}], ids=["unused_open", "pass"])
def test_open_links_give_the_slope_of_the_reference(random_method: Any, make_batch: Any, form: dict[str, str]) -> None:
    method = random_method("waldm", num_domains=3, label_smoothing=0.13, **form)
    parameters = dict(method.model.named_parameters())
    if "labels" in form:
        # With R = 0 the proportions depend on no layer's input, so that the cut there changes no slope along R.
        loss_name, names = "generation", [name for name in parameters if "conditioner" in name]
        for name in names:
            if name.endswith("weight"):
                parameters[name].data.zero_()
    else:
        # With equal copies the mixed maps depend on no proportion, so that the cut there changes no slope.
        loss_name, names = "proportion", [name for name in parameters if "norm" in name or "embedding" in name]
        for module in method.model.modules():
            if isinstance(module, MixedLinear):
                module.load_plain("weight", module.domain_weight(0).clone())
                module.load_plain("bias", module.bias[0].clone())
    source, target, label = SOURCES[1], TARGETS[1], 2
    found = gradients(method, make_batch([source], [target], [label]), loss_name)
    mixing = slow_waldm.Mixing(both_sides=True, smoothing=0.05, mix_out=True)
    weights, generator = weights_of(method), torch.Generator().manual_seed(3)
    direction = {name: torch.randn(weights[name].shape, generator=generator, dtype=torch.float64) for name in names}

    def loss_at(step: float) -> float:
        moved = {**weights, **{name: weights[name] + step * way for name, way in direction.items()}}
        logits, record = slow_waldm.logits(moved, source, [1, *target[:-1]], shape_of("pre"), mixing)
        if loss_name == "generation":
            return slow_losses.label_smoothed_cross_entropy(logits, target, 0.13)
        return slow_waldm.proportion_loss([record], [label], smoothing=0.05, on_logits=False, aux_norm="text")

    slope = (loss_at(1e-5) - loss_at(-1e-5)) / 2e-5
    along = sum((value * direction[name]).sum().item() for name in names if (value := found[name]) is not None)
    assert along == pytest.approx(slope, rel=1e-6)


@pytest.mark.parametrize("sides", ["encoder", "both"])
def test_without_labels_the_translation_loss_trains_the_proportions_or_nothing_does(
    random_method: Any, make_batch: Any, sides: str
) -> None:
    batch = make_batch(SOURCES, TARGETS, LABELS)
    opened = random_method("waldm", mixed_sides=sides, labels="unused_open")
    names = {name for name, _ in opened.model.named_parameters()}
    assert [loss.name for loss in opened.losses] == ["generation"] and opened.clip_apart == []
    assert reached(gradients(opened, batch, "generation")) == names

    frozen = random_method("waldm", mixed_sides=sides, labels="unused_frozen")
    proportions = {name for name in names if "conditioner" in name}
    assert [loss.name for loss in frozen.losses] == ["generation"] and frozen.clip_apart == []
    assert {name for name, _ in frozen.model.named_parameters()} == names - proportions
    assert {name for name, _ in frozen.model.named_buffers() if "conditioner" in name} == proportions
    assert set(frozen.model.state_dict()) == set(opened.model.state_dict())
    assert reached(gradients(frozen, batch, "generation")) == names - proportions
    # Cut off from L_gen, what goes into D is no way around: no gradient but through the mixed maps themselves.
    assert not frozen.model.encoder.layers[0].conditioner(torch.ones(1, 1, 16).double(), DomainContext()).requires_grad


@pytest.mark.parametrize(
    "options", [{"weighted_loss": "aligned"}, {"weighted_loss": "misaligned"}, {"input_link": "reverse"}]
)
@pytest.mark.parametrize("labels", ["unused_open", "unused_frozen"])
def test_what_needs_labels_is_refused_without_them(options: dict[str, str], labels: str) -> None:
    with pytest.raises(ConfigError, match=f"labels: {labels} trains without labels") as caught:
        validate("waldm", {**options, "labels": labels}, where="methods/x.yaml")
    assert "\n" not in str(caught.value)
