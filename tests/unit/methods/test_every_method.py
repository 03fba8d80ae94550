"""What every form of computation of config/methods must show; the forms are found in the files."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from chosen_cases import chosen_cases
from method_forms import CONFIGS, FORM_OF_BUILDER, FORMS
from torch import Tensor

from mdnmt.config.training import Training
from mdnmt.methods.method import Method
from mdnmt.operations import method_checks as checks
from mdnmt.train.layout import why_padded

NUM_DOMAINS = 3
SOURCES, TARGETS = checks.SOURCES, checks.TARGETS
DOMAINS = [0, 1, 2]

# Options that a test chooses so that both cases come up: here, blocks that are used and blocks that are skipped.
TOY_OPTIONS = {"latent_depth": {"initial_logit": 0.0}}

every_form = pytest.mark.parametrize("name", FORMS)
# Compiling takes seconds.
every_builder = pytest.mark.parametrize(
    "name", chosen_cases(FORM_OF_BUILDER.values(), FORM_OF_BUILDER["waldm"], FORM_OF_BUILDER["dmoe"])
)
# Each norm with other kernels, not the product of both: that would take twice the time.
both_norms = pytest.mark.parametrize(("norm", "kernels"), [("pre", "cpu"), ("post", "plain")], indirect=["kernels"])


@pytest.fixture
def make_method() -> Any:
    """Return a function (name, **more) that builds a file's method at toy size, with random weights."""

    def make(name: str, **more: Any) -> Method:
        config = CONFIGS[name]
        options = {**config.architecture, **TOY_OPTIONS.get(config.builder, {}), "num_domains": NUM_DOMAINS, **more}
        return checks.ready_to_train(checks.random_method(config.builder, **options), NUM_DOMAINS)

    return make


@pytest.mark.slow
@every_form
@both_norms
def test_token_by_token_decoding_equals_the_whole(make_method: Any, name: str, norm: str) -> None:
    checks.check_cached_decoding(partial(make_method, name, norm=norm), NUM_DOMAINS)


@every_form
@pytest.mark.parametrize("kernels", ["plain"], indirect=True)
def test_beams_may_be_reordered_and_sentences_dropped(make_method: Any, name: str) -> None:
    checks.check_beams(partial(make_method, name, norm="post"), NUM_DOMAINS)


@every_form
@both_norms
def test_padding_never_matters(make_method: Any, name: str, norm: str) -> None:
    checks.check_padding(partial(make_method, name, norm=norm), NUM_DOMAINS)


@every_form
def test_every_parameter_is_registered_trained_clipped_and_saved(make_method: Any, tmp_path: Path, name: str) -> None:
    checks.check_parameters(
        partial(make_method, name), NUM_DOMAINS, tmp_path, weights_decide=not CONFIGS[name].deliberately_broken
    )


@pytest.mark.slow
@every_builder
def test_a_training_step_has_no_graph_break(make_method: Any, make_batch: Any, name: str) -> None:
    method = make_method(name, dtype=torch.float32, dropout=0.0, attention_dropout=0.0)
    method.model.train()
    batch = make_batch(SOURCES, TARGETS, DOMAINS)

    def step(batch: Any) -> Tensor:
        return torch.stack(list(checks.losses(method, batch).values())).sum()

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


@pytest.mark.slow
@every_form
@both_norms
def test_packed_batches_give_the_same_losses_and_gradients(make_method: Any, name: str, norm: str) -> None:
    checks.check_packing(partial(make_method, name, norm=norm), NUM_DOMAINS)


@pytest.mark.slow
def test_the_methods_whose_batches_stay_padded() -> None:
    methods = {name: checks.random_method(config.builder, **config.architecture) for name, config in CONFIGS.items()}
    reasons = {name: why_padded(method, Training()) for name, method in methods.items()}
    padded = {name for name, reason in reasons.items() if reason is not None}
    assert {CONFIGS[name].builder for name in padded} == {"domain_tag", "naive_waldm", "waldm"}
    for name in padded:
        options = CONFIGS[name].architecture
        assert (
            CONFIGS[name].builder in {"domain_tag", "naive_waldm"}
            or options.get("aux_norm") == "code"
            or options.get("weighted_loss") == "misaligned"
        )


@every_form
def test_it_computes_in_bf16(make_method: Any, name: str) -> None:
    checks.check_bf16(partial(make_method, name), NUM_DOMAINS)
