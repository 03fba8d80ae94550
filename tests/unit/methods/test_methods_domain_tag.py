"""DomainTag: equal to the slow reference on a source sentence with one more word."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from against_reference import TOLERANCE, both_types, num_parameters, weights_of
from reference import losses as slow_losses
from reference import transformer as slow
from torch import Tensor

from mdnmt.errors import ConfigError
from mdnmt.methods import validate

SOURCES = [[5, 6, 7, 2], [2], [8, 9, 10, 11, 2]]
TARGETS = [[12, 2], [13, 14, 15, 2], [2]]


@both_types
@pytest.mark.parametrize(("norm", "k"), [("pre", 3), ("post", 2)])
@pytest.mark.parametrize("position", ["first", "last"])
def test_it_equals_one_more_word(
    random_method: Any, make_batch: Any, position: str, norm: str, k: int, dtype: torch.dtype
) -> None:
    method = random_method(
        "domain_tag", num_domains=k, dtype=dtype, norm=norm, tag_position=position, label_smoothing=0.13
    )
    weights = weights_of(method)
    # The tags are the last words of a larger source vocabulary (Tars and Fishel 2018, sec. 3.2).
    words = weights["source_embedding.weight"]
    weights["source_embedding.weight"] = torch.cat([words, weights["domain_tag.weight"]])
    shape = slow.Shape(num_heads=2, encoder_layers=2, decoder_layers=2, norm=norm)
    domains = [k - 1, 0, 1]
    batch = make_batch(SOURCES, TARGETS, domains)
    output = method.model(batch)
    rows = output.logits().split([len(target) for target in TARGETS])
    expected_loss = 0.0
    for source, target, domain, found in zip(SOURCES, TARGETS, domains, rows, strict=True):
        tag = len(words) + domain
        tagged = [tag, *source] if position == "first" else [*source[:-1], tag, source[-1]]
        expected = slow.logits(weights, tagged, [1, *target[:-1]], shape)
        assert ((found.double() - expected).abs().max() / expected.abs().max()).item() < TOLERANCE[dtype]
        expected_loss += slow_losses.label_smoothed_cross_entropy(expected, target, 0.13)
    [loss] = method.losses
    assert loss(output, batch).item() == pytest.approx(expected_loss, rel=TOLERANCE[dtype])
    assert method.needs_domain


@pytest.mark.parametrize("position", ["first", "last"])
def test_a_tag_is_trained_by_sentences_of_its_domain_alone(random_method: Any, make_batch: Any, position: str) -> None:
    method = random_method("domain_tag", num_domains=3, tag_position=position)
    batch = make_batch(SOURCES, TARGETS, [2, 0, 2])
    gradient: Tensor
    [gradient] = torch.autograd.grad(method.losses[0](method.model(batch), batch), [method.model.domain_tag.weight])
    assert gradient.any(dim=1).tolist() == [True, False, True]


def test_the_label_changes_the_translation(random_method: Any, make_batch: Any) -> None:
    method = random_method("domain_tag", num_domains=2)
    one, other = (method.model(make_batch(SOURCES, TARGETS, labels)).logits() for labels in ([0, 1, 0], [0, 0, 0]))
    assert torch.equal(one[:2], other[:2]) and not torch.isclose(one[2:6], other[2:6]).all(dim=1).any()


def test_a_tag_takes_a_position(random_method: Any) -> None:
    assert random_method("domain_tag", max_positions=40).model.max_source_length == 39
    assert random_method("transformer", max_positions=40).model.max_source_length == 40


def test_it_has_a_vector_a_domain_more_than_a_transformer() -> None:
    assert num_parameters("domain_tag") == num_parameters("transformer") + 4 * 512


def test_an_unknown_position_is_one_line() -> None:
    with pytest.raises(ConfigError, match="expected one of first, last"):
        validate("domain_tag", {"tag_position": "middle"}, where="methods/x.yaml")
