"""LDSPSLV (reconstructed) equals its slow reference, and its schedules, gradients and size are what the page says."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from against_reference import TOLERANCE, both_norms, both_types, num_parameters, relative_error, sentences, weights_of
from reference import latent_depth as slow
from reference import losses as slow_losses
from reference import transformer as slow_transformer
from torch import Tensor

from mdnmt.methods.method import Method

SIZES = {"encoder_layers": 1, "decoder_layers": 1, "num_heads": 2, "label_smoothing": 0.13, "dropout": 0.0}
LABELS = [1, 0, 1]


SOURCES, TARGETS = sentences([2, 5, 1], 1), sentences([4, 1, 5], 2)


def make(random_method: Any, *, num_domains: int = 2, **options: Any) -> tuple[Method, Tensor]:
    """Return a method whose domains use different blocks, and its logits [K, N]."""
    method = random_method("latent_depth", num_domains=num_domains, **{**SIZES, **options})
    logits_KN = method.model.block_choice.logits
    with torch.no_grad():
        logits_KN.copy_(torch.randn(logits_KN.shape, generator=torch.Generator().manual_seed(3)))
    return method, logits_KN.detach().double()


def shape_of(method: Method, norm: str) -> slow_transformer.Shape:
    layers = len(method.model.encoder.layers), len(method.model.decoder.layers)
    return slow_transformer.Shape(2, *layers, norm)


def check(method: Method, batch: Any, norm: str, uses_BN: list[list[float]], dtype: torch.dtype) -> None:
    """Compare the logits and the generation loss of a pass with the reference's for these z."""
    output = method.model(batch)
    weights = weights_of(method)
    shape, loss = shape_of(method, norm), 0.0
    found_rows = output.logits().split([len(target) for target in TARGETS])
    for source, target, label, use_N, found in zip(
        SOURCES, TARGETS, batch.domain_B.tolist(), uses_BN, found_rows, strict=True
    ):
        inputs = [1, *target[:-1]]
        if any(".maps." in name for name in weights):
            chosen = slow.weights_of_sentence(weights, shape, use_N, label)
            expected = slow_transformer.logits(chosen, source, inputs, shape)
        else:
            expected = slow.logits(weights, source, inputs, shape, use_N)
        assert relative_error(found, expected) < TOLERANCE[dtype]
        loss += slow_losses.label_smoothed_cross_entropy(expected, target, 0.13)
    assert method.losses[0](output, batch).item() == pytest.approx(loss, rel=TOLERANCE[dtype])


FORMS = [
    {"num_domains": 2},
    {"num_domains": 3, "encoder_depth_factor": 3, "decoder_depth_factor": 1},
    {"num_domains": 2, "mode": "shared_or_private", "ffn_dim": 12},
    {"num_domains": 3, "mode": "shared_or_private", "decoder_depth_factor": 1},
]


@both_types
@both_norms
@pytest.mark.parametrize("form", FORMS, ids=lambda form: "-".join(map(str, form.values())))
def test_a_settled_choice_equals_the_reference(
    random_method: Any, make_batch: Any, form: dict[str, Any], norm: str, dtype: torch.dtype
) -> None:
    method, logits_KN = make(random_method, norm=norm, dtype=dtype, **form)
    labels = [form["num_domains"] - 1, 0, 1]
    uses = [slow.settled_use(logits_KN[label].tolist()) for label in labels]
    assert uses[0] != uses[1]
    check(method, make_batch(SOURCES, TARGETS, labels), norm, uses, dtype)


@both_types
@both_norms
@pytest.mark.parametrize("update", [1, 4], ids=["soft", "hard"])
@pytest.mark.parametrize("mode", ["depth", "shared_or_private"])
def test_a_drawn_choice_equals_the_reference(
    random_method: Any, make_batch: Any, mode: str, update: int, norm: str, dtype: torch.dtype
) -> None:
    method, logits_KN = make(random_method, norm=norm, dtype=dtype, mode=mode)
    method.model.train()
    method.begin_update(update, 10)
    tau = 5.0 - 4.5 * update / 10
    torch.manual_seed(4)
    uniform_BN = torch.rand(3, logits_KN.size(1), dtype=dtype).double()
    uses = [
        slow.drawn_use(logits_KN[label].tolist(), uniform_N.tolist(), tau, hard=update / 10 > 0.2)
        for label, uniform_N in zip(LABELS, uniform_BN, strict=True)
    ]
    assert uses[0] != uses[2]  # one domain, but each sentence its own draw
    torch.manual_seed(4)
    check(method, make_batch(SOURCES, TARGETS, LABELS), norm, uses, dtype)


@both_types
@pytest.mark.parametrize("k", [2, 3])
def test_losses_equal_the_reference(random_method: Any, make_batch: Any, k: int, dtype: torch.dtype) -> None:
    method, logits_KN = make(
        random_method, num_domains=k, dtype=dtype, prior_weight=0.3, sharing_weight=0.07, count_weight=0.02
    )
    rows, labels, lengths = logits_KN.tolist(), [k - 1, 0, 1], [len(target) for target in TARGETS]
    batch = make_batch(SOURCES, TARGETS, labels)
    output = method.model(batch)
    # Update 3 of 10 lies half-way in the ramp of the prior, 5 of 10 half-way in that of the others.
    for update, prior, others in ((2, 0.0, 0.0), (3, 0.5, 0.0), (5, 1.0, 0.5), (10, 1.0, 1.0)):
        method.begin_update(update, 10)
        found = {loss.name: loss(output, batch).item() for loss in method.losses}
        assert list(found) == ["generation", "block_prior", "block_sharing", "block_count"]
        rel = TOLERANCE[dtype]
        assert found["block_prior"] == pytest.approx(0.3 * prior * slow.prior_loss(rows, labels, lengths), rel=rel)
        assert found["block_sharing"] == pytest.approx(0.07 * others * slow.sharing_loss(rows, sum(lengths)), rel=rel)
        # Depth is doubled; the target is the 2 + 3 blocks of the plain model.
        assert found["block_count"] == pytest.approx(0.02 * others * slow.count_loss(rows, sum(lengths), 5), rel=rel)


def test_schedules(random_method: Any) -> None:
    method, _ = make(random_method)
    choice = method.model.block_choice
    found = []
    for update in (1, 20, 21, 100):
        method.begin_update(update, 100)
        found.append((round(choice.temperature.value.item(), 4), choice.hardness.value.item()))
    assert found == [(4.955, 0.0), (4.1, 0.0), (4.055, 1.0), (0.5, 1.0)]


@pytest.mark.parametrize("mode", ["depth", "shared_or_private"])
def test_gradients_reach_what_they_should(random_method: Any, make_batch: Any, mode: str) -> None:
    method, logits_KN = make(random_method, num_domains=3, mode=mode)
    model = method.model
    model.train()
    method.begin_update(8, 10)  # hard choices
    batch = make_batch(SOURCES, TARGETS, [2, 0, 2])  # nothing of domain 1
    with torch.no_grad():
        model.block_choice.logits[:, 5] = logits_KN[:, 5] = 20.0  # without cross-attention nothing reaches the encoder
    torch.manual_seed(4)
    use_BN = (torch.rand(3, logits_KN.size(1), dtype=torch.float64).logit() + logits_KN[batch.domain_B]) > 0
    torch.manual_seed(4)
    output = model(batch)
    named = dict(model.named_parameters())
    terms = {loss.name: loss(output, batch) for loss in method.losses}

    def by(name: str) -> dict[str, Tensor | None]:
        found = torch.autograd.grad(terms[name], list(named.values()), allow_unused=True, retain_graph=True)
        return dict(zip(named, found, strict=True))

    generation = by("generation")
    of_logits = generation["block_choice.logits"]
    assert of_logits is not None
    assert of_logits[0].all() and of_logits[2].all(), "straight-through: also blocks that are off learn"
    assert not of_logits[1].any()
    for name, gradient in generation.items():
        if mode == "depth" and name.endswith("ffn.first.weight"):
            side, layer = name.split(".")[0], int(name.split(".")[2])
            number = 2 * layer + 1 if side == "encoder" else 2 * len(model.encoder.layers) + 3 * layer + 2
            assert gradient is not None and bool(gradient.any()) == bool(use_BN[:, number].any()), name
        if mode == "shared_or_private" and name.endswith("maps.bias"):
            assert gradient is not None and not gradient[1 + 1].any(), f"{name}: domain 1 was not there"
    for name in set(terms) - {"generation"}:
        reached = {parameter for parameter, gradient in by(name).items() if gradient is not None}
        assert reached == {"block_choice.logits"}
    if mode == "shared_or_private":
        assert list(terms) == ["generation", "block_prior"]


def test_logits_are_clipped_apart(random_method: Any) -> None:
    method, _ = make(random_method)
    rest, apart = method.clip_groups()
    assert apart == [method.model.block_choice.logits]
    assert len(rest) + 1 == len(list(method.model.parameters()))
    assert method.needs_domain


@both_norms
def test_private_copies_decode_token_by_token(random_method: Any, make_batch: Any, norm: str) -> None:
    method, _ = make(random_method, num_domains=3, mode="shared_or_private", norm=norm)
    targets = sentences([6, 6, 6], 5)
    batch = make_batch(SOURCES, targets, [2, 0, 1])
    with torch.inference_mode():
        expected = method.model(batch).logits().view(3, 6, -1)
        state = method.model.start(batch.source_BS, batch.source_mask_BS, batch.domain_B)
        for t in range(6):
            found = method.model.step(batch.target_BT[:, t].repeat_interleave(2), state)  # two equal beams each
            assert torch.allclose(found, expected[:, t].repeat_interleave(2, 0), rtol=1e-9, atol=1e-10), f"word {t}"
            if t == 2:
                state.select(torch.tensor([0, 2]), torch.tensor([1, 0, 4, 5]))
                batch = make_batch([SOURCES[0], SOURCES[2]], [targets[0], targets[2]], [2, 1])
                expected = expected[[0, 2]]


def test_every_map_of_a_private_model_belongs_to_its_block(random_method: Any) -> None:
    method, _ = make(random_method, mode="shared_or_private")
    numbers: dict[str, int] = {}
    for name, module in method.model.named_modules():
        if hasattr(module, "maps"):
            numbers[name.rpartition(".")[0]] = numbers.get(name.rpartition(".")[0], module.number)
            assert numbers[name.rpartition(".")[0]] == module.number, name
    assert list(numbers.values()) == list(range(2 * 2 + 2 * 3))


def test_the_size_that_song_prints() -> None:
    assert num_parameters("latent_depth", encoder_depth_factor=4) == pytest.approx(171e6, abs=0.5e6)
    plain = num_parameters("transformer", encoder_layers=12, decoder_layers=12)
    assert num_parameters("latent_depth") == plain + 4 * (2 * 12 + 3 * 12)
