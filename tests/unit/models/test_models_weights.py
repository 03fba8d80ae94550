"""The words' weights of WL, and the loss that they weigh."""

from __future__ import annotations

import pytest
import torch
from reference import word_context as slow
from torch import Tensor

from mdnmt.models.batch import Batch
from mdnmt.models.context import DomainContext
from mdnmt.models.losses import LabelSmoothedCrossEntropy
from mdnmt.models.transformer import Output
from mdnmt.models.word_weights import WordWeights

LENGTHS = [4, 2, 3]
MASK = torch.arange(4) < torch.tensor(LENGTHS).unsqueeze(1)


def test_weights_equal_the_reference_and_let_no_gradient_through() -> None:
    torch.manual_seed(0)
    block = WordWeights(6, 3).double()
    for parameter in block.parameters():
        torch.nn.init.normal_(parameter)
    weights = {f"classifiers.decoder.{name}": value.detach() for name, value in block.state_dict().items()}
    x_BTD = torch.randn(3, 4, 6, dtype=torch.float64, requires_grad=True)
    context = DomainContext()
    block(x_BTD, MASK, context)
    [logits_BK], [alpha_BT] = context.recorded("sentence", "decoder"), context.recorded("word_weight", "decoder")
    for row, length in enumerate(LENGTHS):
        expected, alpha = slow.word_weights(weights, list(x_BTD[row, :length].detach()))
        assert torch.allclose(logits_BK[row], expected, rtol=1e-12)
        assert alpha_BT[row].tolist() == pytest.approx([*alpha, *[0.0] * (4 - length)], rel=1e-12)
    assert not alpha_BT.requires_grad
    logits_BK.square().sum().backward()
    assert x_BTD.grad is None
    assert all(parameter.grad is not None and parameter.grad.any() for parameter in block.parameters())


def test_under_autocast_weights_and_logits_are_whole_floats() -> None:
    context = DomainContext()
    with torch.autocast("cpu", torch.bfloat16):
        WordWeights(6, 3)(torch.randn(3, 4, 6).bfloat16(), MASK, context)
    kinds = {kind: value.dtype for (kind, _), [value] in context.records.items()}
    assert kinds == {"sentence": torch.float32, "word_weight": torch.float32}


@pytest.mark.parametrize("form", ["plain", "aligned", "misaligned"])
def test_each_word_counts_once_more_by_its_alpha(form: str) -> None:
    torch.manual_seed(1)
    vocab = 7
    hidden_BTD = torch.randn(3, 4, 5, dtype=torch.float64)
    weight_VD = torch.randn(vocab, 5, dtype=torch.float64)
    label_BT = torch.randint(0, vocab, (3, 4))
    alpha_BT: Tensor = torch.rand(3, 4, dtype=torch.float64) * MASK
    context = DomainContext()
    context.record("word_weight", "decoder", alpha_BT)
    index_N = MASK.flatten().nonzero().squeeze(1)
    empty = torch.zeros(0)
    batch = Batch(empty, empty, empty, MASK, label_BT[MASK], index_N, empty)
    output = Output(hidden_BTD[MASK], weight_VD, context)
    loss = LabelSmoothedCrossEntropy(0.1, token_weighted=form != "plain", misaligned=form == "misaligned")
    rows = list(enumerate(LENGTHS))
    alphas = [alpha_BT[row, :length].tolist() for row, length in rows]
    by_form = {"plain": [[0.0] * 4] * 3, "aligned": alphas, "misaligned": slow.misaligned(alphas)}
    chosen = [alpha[:length] for alpha, length in zip(by_form[form], LENGTHS, strict=True)]
    expected = slow.weighted_cross_entropy(
        [hidden_BTD[row, :length] @ weight_VD.t() for row, length in rows],
        [label_BT[row, :length].tolist() for row, length in rows],
        chosen,
        0.1,
    )
    assert loss(output, batch).item() == pytest.approx(expected, rel=1e-12)
