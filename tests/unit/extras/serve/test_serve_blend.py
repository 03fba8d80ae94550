"""A blend at its ends is one of the two domains, in between it is neither, and the model itself stays as it was."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor

from mdnmt.decode.low_precision import prepare_for_decoding
from mdnmt.decode.translator import Translator
from mdnmt.extras.serve.blend import blended, can_blend
from mdnmt.models.context import DomainContext
from mdnmt.models.projection import MixedLinear
from mdnmt.models.transformer import Transformer

SOURCE_BS = torch.tensor([[5, 6, 7, 2]])
TARGET_BT = torch.tensor([[1, 8, 9, 5]])
BLEND = 2  # the label behind those of two domains


def output(model: Transformer, label: int) -> Tensor:
    context = DomainContext(domain_B=torch.tensor([label]))
    with torch.inference_mode():
        memory = model.encode(SOURCE_BS, torch.ones_like(SOURCE_BS, dtype=torch.bool), context)
        y_BTD: Tensor = model.decoder(model.target_embedding(TARGET_BT), memory, context)
    return y_BTD


@pytest.mark.slow
@pytest.mark.parametrize("form", ["dmoe", "dmoe-domain", "tag"])
def test_at_its_ends_it_is_one_of_the_domains(form: str, finished: Callable[[str], Path]) -> None:
    model = Translator(finished(form), torch.device("cpu")).model
    before = [output(model, label) for label in (0, 1)]
    assert not torch.allclose(before[0], before[1], atol=1e-4)
    for first, second, share, same in ((0, 1, 0.0, 0), (0, 1, 1.0, 1), (1, 0, 0.0, 1)):
        assert torch.equal(output(blended(model, first, second, share), BLEND), before[same])
    half = blended(model, 0, 1, 0.5)
    assert all(not torch.allclose(output(half, BLEND), each, atol=1e-5) for each in before)
    torch.testing.assert_close(
        output(prepare_for_decoding(half), BLEND), output(half, BLEND)
    )  # decoding takes this copy
    assert [torch.equal(output(half, label), before[label]) for label in (0, 1)] == [True, True]
    assert [torch.equal(output(model, label), before[label]) for label in (0, 1)] == [True, True]


def test_waldm_mixes_by_the_given_proportion(finished: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> None:
    model = Translator(finished("waldm"), torch.device("cpu")).model
    seen: list[Tensor | None] = []
    forward = MixedLinear.forward

    def watch(self: MixedLinear, x_BTD: Tensor, context: DomainContext) -> Tensor:
        seen.append(context.proportion_BTK)
        return forward(self, x_BTD, context)

    monkeypatch.setattr(MixedLinear, "forward", watch)
    output(blended(model, 0, 1, 0.25), BLEND)
    wanted = 0.95 * torch.tensor([0.75, 0.25]) + 0.05 / 2  # smoothed as the model's own: eps is 0.05
    assert seen and all(torch.allclose(each, wanted.expand_as(each)) for each in seen if each is not None)
    seen.clear()
    output(model, 0)
    assert not any(torch.allclose(each, wanted.expand_as(each)) for each in seen if each is not None)


@pytest.mark.slow
def test_methods_that_read_no_domain_cannot(finished: Callable[[str], Path]) -> None:
    can = {form: can_blend(Translator(finished(form), torch.device("cpu")).model) for form in ("mixed", "dsa", "dmoe")}
    assert can == {"mixed": False, "dsa": False, "dmoe": True}
