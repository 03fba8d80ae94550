"""What every form of computation of config/methods must show; the forms are found in the files."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import torch
from fast_cases import fast_cases
from method_forms import CONFIGS, FORM_OF_BUILDER, FORMS
from torch import Tensor, nn

from mdnmt.checkpoints.weights import load_model, save_model
from mdnmt.config.decoding import Decoding
from mdnmt.config.training import Training
from mdnmt.decode.beam import beam_search
from mdnmt.methods.method import Method, TokenCounts
from mdnmt.train.optimiser import Optimiser

NUM_DOMAINS = 3
SOURCES = [[5, 6, 2], [7, 8, 9, 10, 11, 2], [3, 2]]
TARGETS = [[12, 13, 14, 2], [15, 2], [16, 17, 18, 19, 20, 21, 2]]
DOMAINS = [0, 1, 2]

# Options that a test chooses so that both cases come up: here, blocks that are used and blocks that are skipped.
TOY_OPTIONS = {"latent_depth": {"initial_logit": 0.0}}

every_form = pytest.mark.parametrize("name", FORMS)
# Compiling takes seconds.
every_builder = pytest.mark.parametrize(
    "name", fast_cases(FORM_OF_BUILDER.values(), FORM_OF_BUILDER["waldm"], FORM_OF_BUILDER["dmoe"])
)
# Each norm with other kernels, not the product of both: that would take twice the time.
both_norms = pytest.mark.parametrize(("norm", "kernels"), [("pre", "cpu"), ("post", "plain")], indirect=["kernels"])


@pytest.fixture
def make_method(random_method: Any) -> Any:
    """Return a function (name, **more) that builds a file's method at toy size, with random weights."""

    def make(name: str, **more: Any) -> Method:
        config = CONFIGS[name]
        method: Method = random_method(
            config.builder,
            **{**config.architecture, **TOY_OPTIONS.get(config.builder, {}), "num_domains": NUM_DOMAINS, **more},
        )
        if method.prepare is not None:
            torch.manual_seed(5)
            vocab = method.model.source_embedding.weight.size(0), method.model.target_embedding.weight.size(0)
            method.prepare(TokenCounts(*(torch.randint(0, 9, (NUM_DOMAINS, size)) for size in vocab)))
        method.begin_update(8, 10)  # every scheduled loss has a weight by then
        return method

    return make


def losses(method: Method, batch: Any) -> dict[str, Tensor]:
    output = method.model(batch)
    return {loss.name: loss(output, batch) for loss in method.losses}


@every_form
@both_norms
def test_token_by_token_decoding_equals_the_whole(make_method: Any, make_batch: Any, name: str, norm: str) -> None:
    method = make_method(name, norm=norm)
    # Longer than the cache's first room (16), so that it has to grow.
    torch.manual_seed(7)
    words = torch.randint(3, 29, (3, 20))
    batch = make_batch(SOURCES, [[*row.tolist(), 2] for row in words], DOMAINS)
    with torch.inference_mode():
        expected = method.model(batch).logits().view(3, 21, -1)
        state = method.model.start(batch.source_BS, batch.source_mask_BS, batch.domain_B)
        for t in range(21):
            found = method.model.step(batch.target_BT[:, t], state)
            assert torch.allclose(found, expected[:, t], rtol=1e-9, atol=1e-10), f"word {t}"


@every_form
@both_norms
def test_beams_may_be_reordered_and_sentences_dropped(make_method: Any, make_batch: Any, name: str, norm: str) -> None:
    method = make_method(name, norm=norm)
    batch = make_batch(SOURCES, [[4, 2]] * 3, DOMAINS)

    def whole(sentence: int, prefix: list[int]) -> Tensor:
        return method.model(make_batch([SOURCES[sentence]], [[*prefix, 2]], [DOMAINS[sentence]])).logits()[-1]

    # (sentence, words) of each of the 3 x 2 prefixes; what is kept after each step, as positions in the list before.
    prefixes = [(row, [word]) for row in range(3) for word in (1, 1)]
    steps: list[tuple[list[int] | None, list[int], list[int]]] = [
        (None, [1, 0, 3, 3, 4, 5], [9, 8, 7, 6, 5, 4]),
        ([0, 2], [1, 1, 5, 4], [12, 13, 14, 15]),
        ([1], [3, 2], [5, 7]),
        (None, [1, 0], [11, 9]),
    ]
    with torch.inference_mode():
        state = method.model.start(batch.source_BS, batch.source_mask_BS, batch.domain_B)
        for kept, order, new_words in steps:
            found = method.model.step(torch.tensor([words[-1] for _, words in prefixes]), state)
            for row, (sentence, words) in enumerate(prefixes):
                assert torch.allclose(found[row], whole(sentence, words[1:]), rtol=1e-9, atol=1e-10)
            state.select(torch.tensor(kept) if kept is not None else None, torch.tensor(order))
            prefixes = [
                (prefixes[place][0], [*prefixes[place][1], word]) for place, word in zip(order, new_words, strict=True)
            ]


@every_form
@both_norms
def test_padding_never_matters(make_method: Any, make_batch: Any, name: str, norm: str) -> None:
    method = make_method(name, norm=norm)
    with torch.inference_mode():
        together = method.model(make_batch(SOURCES, TARGETS, DOMAINS)).logits().split([len(row) for row in TARGETS])
        for source, target, domain, found in zip(SOURCES, TARGETS, DOMAINS, together, strict=True):
            alone = method.model(make_batch([source], [target], [domain])).logits()
            assert torch.allclose(found, alone, rtol=1e-9, atol=1e-10)


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
                if isinstance(item, Tensor):
                    assert id(item) in registered, f"{type(module).__name__}.{name} hides a tensor"


@every_form
def test_every_parameter_is_registered_trained_clipped_and_saved(
    make_method: Any, make_batch: Any, tmp_path: Path, name: str
) -> None:
    method = make_method(name, dtype=torch.float32, dropout=0.1)
    model = method.model
    if not CONFIGS[name].deliberately_broken:
        assert_no_tensor_hides(model)
    held = [id(parameter) for group in method.clip_groups() for parameter in group]
    assert sorted(held) == sorted(map(id, model.parameters()))
    before = copy.deepcopy(model.state_dict())
    optimiser = Optimiser(model, Training(weight_decay=0.0))
    # Every word of both vocabularies stands in it, so that every row of the embeddings is trained.
    words = list(range(3, 29))
    batch = make_batch([[*words, 2], [4, 2], [5, 2]], [[*words, 2], [*words[::-1], 2], [7, 2]], DOMAINS)
    model.train()
    for update in range(1, 9):
        method.begin_update(update, 8)
        torch.stack(list(losses(method, batch).values())).sum().backward()
        optimiser.step(1e-3)
    model.eval()
    for key, value in model.named_parameters(remove_duplicate=False):
        moved = value != before[key]
        if key.endswith("embedding.weight"):
            moved = moved[3:29]  # special words and those that only the larger source vocabulary has are not read
        # Not all of it: a ReLU unit may be dead in so small a batch, and an expert that no word chose rightly rests.
        assert moved.float().mean() > 0.5, f"{key} stands still"
    save_model(tmp_path / "model.safetensors", model.state_dict())
    other = make_method(name, seed=99, dtype=torch.float32, dropout=0.1)
    other.model.load_state_dict(load_model(tmp_path / "model.safetensors"))
    for key, value in model.state_dict().items():
        assert torch.equal(other.model.state_dict()[key], value)
    if CONFIGS[name].deliberately_broken:
        return
    assert torch.equal(other.model(batch).logits(), model(batch).logits())
    config = Decoding(beam_size=2, max_length_ratio=1.0, max_length_extra=4)
    found = [
        beam_search(one, batch.source_BS, batch.source_mask_BS, config, batch.domain_B) for one in (model, other.model)
    ]
    assert found[0] == found[1] and found[0][0]


@every_builder
def test_a_training_step_has_no_graph_break(make_method: Any, make_batch: Any, name: str) -> None:
    method = make_method(name, dtype=torch.float32, dropout=0.0, attention_dropout=0.0)
    method.model.train()
    batch = make_batch(SOURCES, TARGETS, DOMAINS)

    def step(batch: Any) -> Tensor:
        return torch.stack(list(losses(method, batch).values())).sum()

    def gradients(function: Any) -> list[Tensor | None]:
        torch.manual_seed(2)
        method.model.zero_grad()
        function(batch).backward()
        return [parameter.grad for parameter in method.model.parameters()]

    torch.compiler.reset()
    plain = gradients(step)
    compiled = gradients(torch.compile(step, backend="eager", fullgraph=True))
    for one, other in zip(plain, compiled, strict=True):
        assert (one is None) == (other is None)
        # Rounding is relative to the largest element: what cancels out to nearly nothing keeps the error of its terms.
        assert one is None or (one - other).abs().max() <= 1e-5 * (1.0 + one.abs().max())


@every_form
def test_it_computes_in_bf16(make_method: Any, make_batch: Any, name: str) -> None:
    method = make_method(name, dtype=torch.float32)
    batch = make_batch(SOURCES, TARGETS, DOMAINS)
    plain = {key: value.item() for key, value in losses(method, batch).items()}
    with torch.autocast("cpu", torch.bfloat16):
        found = losses(method, batch)
    torch.stack(list(found.values())).sum().backward()
    for key, value in found.items():
        assert value.dtype == torch.float32
        assert value.item() == pytest.approx(plain[key], rel=0.1, abs=1e-3)
