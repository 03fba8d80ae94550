"""Every method equals the slow reference written from the equations, and padding never matters."""

from __future__ import annotations

import dataclasses
from itertools import product
from typing import Any

import pytest
import torch
from against_reference import TOLERANCE, both_norms, both_types, relative_error, sentences, weights_of
from reference import losses as slow_losses
from reference import transformer as slow_transformer
from reference import waldm as slow_waldm
from torch import Tensor

ARCHITECTURE = {"encoder_layers": 2, "decoder_layers": 2, "num_heads": 2, "label_smoothing": 0.13}


def shape_of(norm: str) -> slow_transformer.Shape:
    return slow_transformer.Shape(num_heads=2, encoder_layers=2, decoder_layers=2, norm=norm)


def rows(values_NV: Tensor, targets: list[list[int]]) -> list[Tensor]:
    return list(values_NV.split([len(target) for target in targets]))


@both_types
@pytest.mark.parametrize("share", ["none", "decoder", "all"])
@both_norms
def test_transformer(random_method: Any, make_batch: Any, norm: str, share: str, dtype: torch.dtype) -> None:
    # The float32 model is compared with the reference on its own weights: only the arithmetic differs.
    method = random_method("transformer", dtype=dtype, norm=norm, share_embeddings=share, **ARCHITECTURE)
    sources, targets = sentences([2, 6, 1], 1), sentences([5, 1, 6], 2)
    batch = make_batch(sources, targets, [0, 1, 0])
    output = method.model(batch)
    expected_loss = 0.0
    for source, target, found in zip(sources, targets, rows(output.logits(), targets), strict=True):
        expected = slow_transformer.logits(weights_of(method), source, [1, *target[:-1]], shape_of(norm))
        assert relative_error(found, expected) < TOLERANCE[dtype]
        expected_loss += slow_losses.label_smoothed_cross_entropy(expected, target, 0.13)
    [loss] = method.losses
    assert loss(output, batch).item() == pytest.approx(expected_loss, rel=TOLERANCE[dtype])


WALDM_CASES = [
    # Each option once on either norm order and once with the other sides, rather than the product of all.
    *({"mixed_sides": sides, "norm": norm, "mix_out_projection": out, "k": 2} for sides, norm, out in product(
        ("encoder", "both"), ("pre", "post"), (True, False))),
    *({"mixed_sides": sides, "proportion_loss_on_logits": on_logits, "aux_norm": aux, "norm": "pre", "k": 3}
      for sides, on_logits, aux in product(("encoder", "both"), (True, False), ("text", "code"))),
    {"mixed_sides": "both", "norm": "post", "k": 3, "share_embeddings": "all", "ffn_dim": 12},
    {"mixed_sides": "both", "norm": "pre", "k": 2, "share_embeddings": "decoder", "proportion_smoothing": 0.0},
]  # fmt: skip


@both_types
@pytest.mark.parametrize("case", WALDM_CASES, ids=lambda case: "-".join(map(str, case.values())))
def test_waldm(random_method: Any, make_batch: Any, case: dict[str, Any], dtype: torch.dtype) -> None:
    options = {**case}
    k, norm = options.pop("k"), options["norm"]
    smoothing = options.setdefault("proportion_smoothing", 0.07)
    method = random_method("waldm", num_domains=k, dtype=dtype, **options, **ARCHITECTURE)
    # The code's mean counts padding, which a reference of single sentences has not: sentences of one length there.
    uneven = options.get("aux_norm") != "code"
    sources = sentences([2, 6, 1] if uneven else [4, 4, 4], 3)
    targets, labels = sentences([5, 1, 6] if uneven else [5, 5, 5], 4), [k - 1, 0, 1]
    batch = make_batch(sources, targets, labels)
    mixing = slow_waldm.Mixing(
        both_sides=options["mixed_sides"] == "both",
        smoothing=smoothing,
        mix_out=options.get("mix_out_projection", True),
    )
    output = method.model(batch)
    records, expected_loss = [], 0.0
    for source, target, found in zip(sources, targets, rows(output.logits(), targets), strict=True):
        expected, record = slow_waldm.logits(weights_of(method), source, [1, *target[:-1]], shape_of(norm), mixing)
        assert relative_error(found, expected) < TOLERANCE[dtype]
        expected_loss += slow_losses.label_smoothed_cross_entropy(expected, target, 0.13)
        records.append(record)
    generation, proportion = method.losses
    assert (generation.name, proportion.name) == ("generation", "proportion")
    assert generation(output, batch).item() == pytest.approx(expected_loss, rel=TOLERANCE[dtype])
    expected_mix = slow_waldm.proportion_loss(
        records,
        labels,
        smoothing=smoothing,
        on_logits=options.get("proportion_loss_on_logits", False),
        aux_norm=options.get("aux_norm", "text"),
    )
    assert proportion(output, batch).item() == pytest.approx(expected_mix, rel=TOLERANCE[dtype])
    # 6 + 6 layers make 13 proportion layers on both sides and 6 on the encoder (Jiang et al. 2020, released code).
    assert len(records[0].layers) == (5 if mixing.both_sides else 2)


@both_norms
@pytest.mark.parametrize("builder", ["transformer", "waldm"])
def test_losses_of_a_batch_are_those_of_its_sentences(
    random_method: Any, make_batch: Any, builder: str, norm: str
) -> None:
    method = random_method(builder, num_domains=3, norm=norm)
    sources, targets = [[5, 2], [7, 8, 9, 10, 11, 12, 2]], [[6, 4, 2], [9, 5, 5, 8, 10, 11, 12, 2]]
    together = method.model(make_batch(sources, targets, [0, 2]))
    batches = [make_batch([sources[row]], [targets[row]], [[0, 2][row]]) for row in range(2)]
    for loss in method.losses:
        apart = sum(loss(method.model(batch), batch).item() for batch in batches)
        batch = make_batch(sources, targets, [0, 2])
        assert loss(together, batch).item() == pytest.approx(apart, rel=1e-12)


def test_what_padding_holds_never_matters(random_method: Any, make_batch: Any) -> None:
    method = random_method("waldm", num_domains=2)
    batch = make_batch([[5, 2], [7, 8, 9, 2]], [[6, 2], [9, 5, 8, 2]], [0, 1])
    odd = dataclasses.replace(
        batch,
        source_BS=torch.where(batch.source_mask_BS, batch.source_BS, 17),
        target_BT=torch.where(batch.target_mask_BT, batch.target_BT, 18),
    )
    found, expected = method.model(odd), method.model(batch)
    assert relative_error(found.logits(), expected.logits()) < 1e-12
    for loss in method.losses:
        assert loss(found, odd).item() == pytest.approx(loss(expected, batch).item(), rel=1e-12)
