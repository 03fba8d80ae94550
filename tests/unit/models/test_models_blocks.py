"""Single blocks: mixed projections, positions, the losses, and the fused output layer against torch's autograd."""

from __future__ import annotations

import math
import random

import pytest
import torch
import torch.nn.functional as F
from reference import transformer as slow
from reference import waldm as slow_waldm
from torch import Tensor

from mdnmt.models import cross_entropy
from mdnmt.models.batch import Batch
from mdnmt.models.context import DomainContext
from mdnmt.models.cross_entropy import linear_cross_entropy
from mdnmt.models.decoder import Decoder
from mdnmt.models.embedding import Embedding, sinusoidal_positions
from mdnmt.models.encoder import Encoder
from mdnmt.models.losses import ProportionLoss
from mdnmt.models.projection import MixedLinear
from mdnmt.models.proportion import DomainProportion
from mdnmt.models.transformer import Output


@pytest.mark.parametrize(("in_dim", "out_dim"), [(5, 7), (6, 6), (7, 5)])
@pytest.mark.parametrize("num_domains", [1, 2, 4])
def test_mixed_linear_is_the_sum_over_domains(in_dim: int, out_dim: int, num_domains: int) -> None:
    torch.manual_seed(1)
    layer = MixedLinear(in_dim, out_dim, num_domains=num_domains).double()
    torch.nn.init.normal_(layer.bias)
    x_BTD = torch.randn(2, 3, in_dim, dtype=torch.float64, requires_grad=True)
    p_BTK = torch.rand(2, 3, num_domains, dtype=torch.float64)
    found = layer(x_BTD, DomainContext(proportion_BTK=p_BTK))
    weights = {"layer.weight": layer.weight, "layer.bias": layer.bias}
    expected = torch.stack(
        [
            torch.stack([slow_waldm.mixed(weights, "layer", x_BTD[b, t], p_BTK[b, t]) for t in range(3)])
            for b in range(2)
        ]
    )
    assert torch.allclose(found, expected, rtol=1e-12, atol=1e-12)
    mine = torch.autograd.grad(found.square().sum(), [x_BTD, layer.weight, layer.bias])
    theirs = torch.autograd.grad(expected.square().sum(), [x_BTD, layer.weight, layer.bias])
    for one, other in zip(mine, theirs, strict=True):
        assert torch.allclose(one, other, rtol=1e-10, atol=1e-10)
    for domain in range(num_domains):
        assert torch.equal(layer.domain_weight(domain), slow_waldm.domain_matrix(weights, "layer", domain))


@pytest.mark.parametrize(
    ("in_dim", "out_dim", "widened", "fan"),
    [
        (64, 192, False, 64 + 192),  # queries, keys and values: one Xavier draw a domain over [3d, d]
        (64, 64, False, 64 + 64),
        (64, 128, True, 64 + 3 * 128),  # feed-forward: one draw over the stored matrix, whose output is k-fold
        (128, 64, True, 128 + 3 * 64),
    ],
)
def test_mixed_linear_starts_from_the_bound_of_the_released_code(
    in_dim: int, out_dim: int, widened: bool, fan: int
) -> None:
    torch.manual_seed(0)
    layer = MixedLinear(in_dim, out_dim, num_domains=3, widened_init=widened)
    bound = math.sqrt(6.0 / fan)
    assert 0.99 * bound < layer.weight.abs().max().item() <= bound
    assert layer.weight.std().item() == pytest.approx(bound / math.sqrt(3), rel=0.03)
    assert not layer.bias.any()


def test_the_proportion_is_the_smoothed_softmax_and_cuts_both_links() -> None:
    torch.manual_seed(0)
    layer = DomainProportion(6, 3, smoothing=0.05, side="memory").double()
    bound = 1 / math.sqrt(6)
    assert max(p.abs().max().item() for p in layer.parameters()) <= bound
    x_BTD = torch.randn(1, 4, 6, dtype=torch.float64, requires_grad=True)
    context = DomainContext()
    p_BTK = layer(x_BTD, context)
    assert not p_BTK.requires_grad
    assert p_BTK.sum(-1).tolist() == [pytest.approx([1.0] * 4)]
    assert p_BTK.min().item() >= 0.05 / 3
    [logits_BTK] = context.recorded("proportion", "memory")
    assert not context.recorded("proportion", "encoder") and not context.recorded("proportion", "decoder")
    for t in range(4):
        weights = {"c.classifier.weight": layer.classifier.weight, "c.classifier.bias": layer.classifier.bias}
        raw = slow.project(weights, "c.classifier", x_BTD[0, t])
        assert torch.allclose(logits_BTK[0, t], raw)
        assert torch.allclose(p_BTK[0, t], slow_waldm.smooth(raw, 0.05))
    logits_BTK.square().sum().backward()
    assert x_BTD.grad is None
    assert layer.classifier.weight.grad is not None


def test_the_logits_of_the_proportion_are_float32_under_autocast() -> None:
    torch.manual_seed(0)
    layer, context = DomainProportion(6, 3, smoothing=0.05, side="encoder"), DomainContext()
    with torch.autocast("cpu", torch.bfloat16):
        p_BTK = layer(torch.randn(1, 4, 6, dtype=torch.bfloat16), context)
    [logits_BTK] = context.recorded("proportion", "encoder")
    assert logits_BTK.dtype == torch.float32
    assert not torch.equal(logits_BTK, logits_BTK.bfloat16().float()), "computed in bf16, then widened"
    assert p_BTK.dtype == torch.bfloat16


def test_embedding_and_positions() -> None:
    for dim in (4, 7, 16):
        table = sinusoidal_positions(9, dim)
        expected = torch.stack([slow.position(t, dim) for t in range(9)])
        assert torch.allclose(table.double(), expected, atol=1e-6)
    torch.manual_seed(0)
    layer = Embedding(400, 64, dropout=0.5, max_positions=9).eval()
    assert not layer.weight[0].any()
    assert layer.weight.std().item() == pytest.approx(1 / 8, rel=0.03)
    ids = torch.tensor([[5, 6, 7, 2]])
    whole = layer(ids)
    assert torch.allclose(whole[0, 2].double(), 8 * layer.weight[7].double() + slow.position(2, 64), atol=1e-5)
    assert torch.equal(layer(ids[:, 2:], start=2), whole[:, 2:])
    assert torch.equal(layer(ids), layer(ids))
    layer.train()
    assert not torch.equal(layer(ids), layer(ids))


def plain_cross_entropy(
    hidden_ND: Tensor, weight_VD: Tensor, label_N: Tensor, smoothing: float, token_weight_N: Tensor | None
) -> Tensor:
    log_p_NV = (hidden_ND @ weight_VD.t()).log_softmax(-1)
    nll_N = F.nll_loss(log_p_NV, label_N, reduction="none") * (1.0 if token_weight_N is None else token_weight_N)
    return (1 - smoothing) * nll_N.sum() - smoothing * log_p_NV.mean(-1).sum()


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("piece_words", [1, 4, 11, 1000])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=["float64", "float32"])
def test_output_layer_and_loss_in_pieces_equal_the_plain_formula(
    monkeypatch: pytest.MonkeyPatch, smoothing: float, piece_words: int, dtype: torch.dtype, weighted: bool
) -> None:
    vocab = 13
    monkeypatch.setitem(cross_entropy.PIECE_ENTRIES, "cpu", piece_words * vocab)
    monkeypatch.setattr(cross_entropy, "MIN_PIECE_ROWS", 1)
    torch.manual_seed(2)
    hidden = torch.randn(11, 6, dtype=dtype, requires_grad=True)
    weight = torch.randn(vocab, 6, dtype=dtype, requires_grad=True)
    label = torch.randint(0, vocab, (11,))
    word_weight = 1 + torch.rand(11) if weighted else None
    found = linear_cross_entropy(hidden, weight, label, smoothing, word_weight)
    expected = plain_cross_entropy(hidden.double(), weight.double(), label, smoothing, word_weight)
    tolerance = 1e-12 if dtype == torch.float64 else 1e-5
    assert found.dtype == dtype
    assert found.item() == pytest.approx(expected.item(), rel=tolerance)
    # A factor other than one: what stands after the loss must reach the gradient.
    mine = torch.autograd.grad(found / 7, [hidden, weight])
    theirs = torch.autograd.grad(expected / 7, [hidden, weight])
    for one, other in zip(mine, theirs, strict=True):
        assert torch.allclose(one, other, rtol=10 * tolerance, atol=tolerance)


def test_output_layer_and_loss_against_finite_differences() -> None:
    torch.manual_seed(3)
    hidden = torch.randn(5, 4, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(6, 4, dtype=torch.float64, requires_grad=True)
    label = torch.tensor([0, 5, 2, 2, 1])
    for word_weight in (None, torch.tensor([1.0, 1.7, 0.0, 1.2, 2.0], dtype=torch.float64)):
        assert torch.autograd.gradcheck(
            lambda h, w, by=word_weight: linear_cross_entropy(h, w, label, 0.1, by), (hidden, weight)
        )


def test_the_loss_is_finite_where_the_word_is_all_but_impossible() -> None:
    hidden = torch.tensor([[300.0]])
    weight = torch.tensor([[1.0], [-1.0]])
    assert linear_cross_entropy(hidden, weight, torch.tensor([1])).item() == pytest.approx(600.0)


@pytest.mark.parametrize("on_logits", [False, True])
@pytest.mark.parametrize("aux_norm", ["text", "code"])
def test_the_proportion_loss_counts_padding_in_the_code_form_alone(aux_norm: str, on_logits: bool) -> None:
    generator, k, smoothing = random.Random(4), 3, 0.05
    torch.manual_seed(4)
    context = DomainContext()
    for side, layers, width in (("encoder", 2, 4), ("memory", 1, 4), ("decoder", 2, 3)):
        for _ in range(layers):
            context.record("proportion", side, torch.randn(2, width, k, dtype=torch.float64))  # type: ignore[arg-type]
    lengths = {"encoder": [4, 2], "memory": [4, 2], "decoder": [1, 3]}
    labels = [generator.randrange(k), generator.randrange(k)]
    total, terms, num_layers = 0.0, 0, 0
    for (_, side), layers_BTK in context.records.items():
        for logits_BTK in layers_BTK:
            num_layers += 1
            for b in range(2):
                for t in range(logits_BTK.size(1)):
                    if aux_norm == "code" or t < lengths[side][b]:
                        d_K = slow_waldm.smooth(logits_BTK[b, t], 0.0 if on_logits else smoothing)
                        total -= math.log(d_K[labels[b]].item())  # L_mix = - sum log D_J(x)
                        terms += 1
    expected = total / (num_layers if aux_norm == "text" else terms)

    def mask(side: str, width: int) -> Tensor:
        return torch.arange(width) < torch.tensor(lengths[side]).unsqueeze(1)

    empty = torch.zeros(0)
    batch = Batch(empty, mask("encoder", 4), empty, mask("decoder", 3), empty, empty, torch.tensor(labels))
    loss = ProportionLoss(smoothing, on_logits=on_logits, aux_norm=aux_norm)  # type: ignore[arg-type]
    assert loss(Output(empty, empty, context), batch).item() == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("stack", [Encoder, Decoder])
def test_only_a_stack_of_pre_norm_layers_ends_with_a_norm(stack: type[Encoder] | type[Decoder]) -> None:
    assert stack([], model_dim=4, norm_order="pre").norm is not None
    assert stack([], model_dim=4, norm_order="post").norm is None
