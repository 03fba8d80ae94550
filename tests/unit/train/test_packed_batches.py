"""Packed batches hold the sentences of the padded ones, in few shapes, with little room to spare."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from mdnmt.config.training import Training
from mdnmt.models.batch import NO_LABEL, Batch
from mdnmt.paths import RunPaths
from mdnmt.tasks.task_data import Indices, Ragged, Split
from mdnmt.train.batches import epoch_batches
from mdnmt.train.metrics_log import read_metrics
from mdnmt.train.packed_batches import PackedShape, collate_packed, packed_shape
from mdnmt.train.run import train_run
from mdnmt.train.sharding import shard


def text(num_pairs: int) -> Split:
    """Return random pairs whose lengths are spread as those of 100,000 pairs of EU law in pieces."""
    generator = np.random.Generator(np.random.PCG64(1))
    target = np.exp(generator.normal(3.5, 0.65, num_pairs)).clip(2, 249).astype(np.int64)
    source = (target * np.exp(generator.normal(-0.1, 0.22, num_pairs))).clip(2, 249).astype(np.int64)

    def side(lengths: Any) -> Ragged:
        tokens = generator.integers(4, 1000, lengths.sum(), dtype=np.int32)
        return Ragged(tokens, np.concatenate([[0], np.cumsum(lengths)]))

    return Split(side(source), side(target), generator.integers(0, 4, num_pairs, dtype=np.int16))


TEXT = text(100_000)
SOME = np.arange(5000)


def batches(recipe: Training, rows: Indices) -> list[Indices]:
    """Return the batches of two epochs."""
    found = []
    for epoch in (0, 1):
        found += epoch_batches(
            TEXT, rows, max_tokens=recipe.max_tokens, batch_sentences=recipe.batch_sentences, seed=1, epoch=epoch
        )
    return found


def lengths(rows: Indices) -> tuple[Any, Any]:
    return TEXT.source.lengths[rows], TEXT.target.lengths[rows]


@pytest.mark.parametrize(
    ("recipe", "most_places"),
    [
        ({"max_tokens": 4000}, 1.12),
        ({"max_tokens": 25_000}, 1.12),
        ({"max_tokens": 500}, 1.25),
        ({"batch_sentences": 64}, 1.31),
    ],
)
def test_few_places_are_empty_and_shapes_are_few(recipe: dict[str, int], most_places: float) -> None:
    made = batches(Training.model_validate(recipe), np.arange(len(TEXT)))
    shapes = [packed_shape(TEXT, rows, Training.model_validate(recipe)) for rows in made]
    assert len(set(shapes)) <= 8
    places = sum(2 * shape.tokens for shape in shapes)
    assert 1.0 <= places / sum(int(side.sum()) for rows in made for side in lengths(rows)) <= most_places


@pytest.mark.parametrize("recipe", [{"max_tokens": 4000}, {"max_tokens": 100}, {"batch_sentences": 64}])
@pytest.mark.parametrize("workers", [1, 2, 3])
def test_every_part_of_a_batch_fits_its_shape(recipe: dict[str, int], workers: int) -> None:
    training = Training.model_validate(recipe)
    for rows in batches(training, SOME):
        shape = packed_shape(TEXT, rows, training, workers)
        for rank in range(workers):
            for part in shard([rows], rank, workers, can_shard=True):
                assert len(part.rows) <= shape.sentences
                for side in lengths(part.rows):
                    assert side.sum() <= shape.tokens and side.max() <= shape.longest


def sentences(batch: Batch) -> list[tuple[list[int], list[int], list[int], int]]:
    """Return source, decoder inputs, labels and domain of each sentence of a packed batch."""
    source, target = batch.source_packing, batch.target_packing
    assert source is not None and target is not None
    found = []
    for place in range(len(batch.domain_B)):
        (a, b), (c, d) = (one.offsets[place : place + 2].tolist() for one in (source, target))
        if b > a:
            ids = batch.source_BS[0, a:b], batch.target_BT[0, c:d], batch.label_N[c:d]
            found.append((*(one.tolist() for one in ids), int(batch.domain_B[place])))
    return found


def test_a_packed_batch_holds_its_sentences_in_their_order() -> None:
    rows = np.array([3, 1, 4, 15, 9])
    batch = collate_packed(TEXT, rows, PackedShape(tokens=640, sentences=8, longest=256), bos=1)
    wanted = []
    for row in rows:
        source, target = TEXT.source[int(row)].tolist(), TEXT.target[int(row)].tolist()
        wanted.append((source, [1, *target[:-1]], target, int(TEXT.domains[row])))
    assert sentences(batch) == wanted
    assert batch.num_target_tokens == sum(len(labels) for _, _, labels, _ in wanted)
    assert batch.target_length_B.tolist() == [*(len(labels) for _, _, labels, _ in wanted), 0, 0, 0]
    of_labels = [domain for _, _, labels, domain in wanted for _ in labels]
    assert batch.label_domain_N.tolist() == of_labels + [NO_LABEL] * (640 - len(of_labels))
    assert batch.sentence_label_B.tolist() == [domain for *_, domain in wanted] + [NO_LABEL] * 3
    assert batch.sentence_mask_B1.flatten().tolist() == [True] * 5 + [False] * 3
    packing = batch.source_packing
    assert packing is not None
    assert packing.position_BT[0].tolist()[: len(wanted[0][0]) + 1] == [*range(len(wanted[0][0])), 0]


def test_rearranging_is_undone_and_so_is_its_derivative() -> None:
    shape = PackedShape(tokens=640, sentences=8, longest=256)
    packing = collate_packed(TEXT, np.arange(6), shape, bos=1).target_packing
    assert packing is not None
    x = torch.randn(1, 640, 3, dtype=torch.float64, requires_grad=True)
    y = packing.unpack(x)
    is_token = ~packing.is_padding_N
    assert torch.equal(y[packing.token_PL >= 0], x[0, is_token]) and not y[packing.token_PL < 0].any()
    back = packing.pack(y)
    assert torch.equal(back[0, is_token], x[0, is_token]) and not back[0, ~is_token].any()
    weight = torch.randn_like(x)
    (back * weight).sum().backward()
    assert x.grad is not None and torch.equal(x.grad, weight * is_token[None, :, None])


def test_a_value_of_a_sentence_reaches_its_tokens_and_gets_their_gradients() -> None:
    shape = PackedShape(tokens=640, sentences=8, longest=256)
    packing = collate_packed(TEXT, np.arange(6), shape, bos=1).source_packing
    assert packing is not None
    value = torch.randn(8, 3, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(1, 640, 3, dtype=torch.float64)
    found = packing.spread(value)
    (found * weight).sum().backward()
    assert value.grad is not None and not value.grad[6:].any()
    for place, (start, end) in enumerate(pairwise(packing.offsets.tolist())):
        assert torch.equal(found[0, start:end], value[place].expand(end - start, 3))
        torch.testing.assert_close(value.grad[place], weight[0, start:end].sum(0), rtol=1e-12, atol=1e-12)


def test_the_shape_key_is_equal_for_batches_of_a_shape_alone() -> None:
    shape = PackedShape(tokens=640, sentences=8, longest=256)
    one, other, wider = (
        collate_packed(TEXT, rows, size, bos=1)
        for rows, size in (
            (np.arange(6), shape),
            (np.arange(9, 12), shape),
            (np.arange(6), PackedShape(tokens=704, sentences=8, longest=256)),
        )
    )
    assert one.shape_key == other.shape_key != wider.shape_key
    assert {one.shape_key: 1}[other.to(torch.device("cpu")).shape_key] == 1


NO_DROPOUT = {"dropout": 0.0, "attention_dropout": 0.0, "activation_dropout": 0.0}


@pytest.mark.slow
@pytest.mark.parametrize("recipe", [{"max_tokens": 150}, {"max_tokens": 4000, "batch_sentences": 4}])
def test_a_run_takes_the_same_updates_in_both_layouts(
    make_spec: Any, toy_task: Path, tmp_path: Path, recipe: dict[str, int]
) -> None:
    found = []
    for layout in ("padded", "packed"):
        spec = make_spec(
            layout=layout, kernels="plain", log_every=1, max_updates=6, validate_every=6, accumulate_batches=2, **recipe
        )
        spec = spec.model_copy(update={"architecture": {**spec.architecture, **NO_DROPOUT}})
        train_run(spec, toy_task, tmp_path / layout, device="cpu")
        records = read_metrics(RunPaths(tmp_path / layout).metrics)
        found.append([one for one in records if "loss" in one])
    padded, packed = found
    assert len(padded) == len(packed) > 6
    for one, other in zip(padded, packed, strict=True):
        assert (one["update"], one["epoch"], one["split"], one["domain"]) == (
            other["update"],
            other["epoch"],
            other["split"],
            other["domain"],
        )
        assert other["loss"] == pytest.approx(one["loss"], rel=1e-4)
