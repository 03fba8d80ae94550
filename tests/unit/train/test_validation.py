"""Validation measures what it says, and leaves the model as it was."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from reference import losses as slow_losses
from reference import transformer as slow
from sacrebleu.metrics.bleu import BLEU

from mdnmt.config.decoding import Decoding
from mdnmt.config.training import Training
from mdnmt.decode.batching import translate_ids
from mdnmt.tasks.segmentation.bpe import join_pieces
from mdnmt.tasks.task_data import Split, TaskData
from mdnmt.train.run import build_method
from mdnmt.train.validation import Validation, training_sample

CPU = torch.device("cpu")


@pytest.fixture
def data(toy_task: Path) -> TaskData:
    return TaskData.load(toy_task)


@pytest.mark.slow
def test_measures_equal_those_of_single_sentences(make_spec: Any, data: TaskData) -> None:
    torch.manual_seed(0)
    spec = make_spec("transformer", architecture={"norm": "post"})
    model = build_method(spec, data, torch.device("cpu")).model.double()
    weights = {name: value.detach() for name, value in model.state_dict().items()}
    shape = slow.Shape(num_heads=2, encoder_layers=1, decoder_layers=1, norm="post")
    split = data.split("valid")
    totals: dict[str, list[float]] = {}
    for source, target, label in zip(split.source, split.target, split.domains, strict=True):
        labels = target.tolist()
        logits = slow.logits(weights, source.tolist(), [1, *labels[:-1]], shape)
        right = sum(row.argmax().item() == word for row, word in zip(logits, labels, strict=True))
        sums = [
            len(labels),
            slow_losses.label_smoothed_cross_entropy(logits, labels, 0.0),
            slow_losses.label_smoothed_cross_entropy(logits, labels, 0.1),
            right,
        ]
        for name in (data.domains[label], "all"):
            totals[name] = [a + b for a, b in zip(totals.get(name, [0.0] * 4), sums, strict=True)]
    recipe = Training(validation_bleu_sentences=0, max_tokens=30)
    found = Validation(data, data.domains, recipe, 0.1)(model, CPU, None)
    assert set(found) == {*data.domains, "all"}
    for name, (words, nll, loss, right) in totals.items():
        expected = {"nll": nll / words, "loss": loss / words, "ppl": math.exp(nll / words), "accuracy": right / words}
        assert found[name] == pytest.approx(expected, rel=1e-5)


def test_no_side_of_a_batch_is_wider_than_the_budget(make_spec: Any, data: TaskData) -> None:
    model = build_method(make_spec("transformer"), data, CPU).model
    shapes = list[torch.Size]()
    model.register_forward_pre_hook(
        lambda _, given: shapes.extend((given[0].source_BS.shape, given[0].target_BT.shape))
    )
    split = data.split("valid")
    budget = 2 * int(split.source.lengths.max())
    for side in (split, Split(split.target, split.source, split.domains)):
        validation = Validation(data, data.domains, Training(validation_bleu_sentences=0, max_tokens=budget), 0.1)
        validation.split = side
        validation(model, CPU, None)
    assert len(shapes) > 4 * len(data.domains)
    assert all(shape.numel() <= budget or shape[0] == 1 for shape in shapes)


def test_bleu_is_that_of_greedy_translations(make_spec: Any, data: TaskData) -> None:
    torch.manual_seed(1)
    model = build_method(make_spec("waldm"), data, torch.device("cpu")).model.eval()
    found = Validation(data, data.domains, Training(validation_bleu_sentences=4), 0.1)(model, CPU, None)
    split, vocab, scores = data.split("valid"), data.target_vocab, []
    for label, domain in enumerate(data.domains):
        # Four of six, evenly spread.
        rows = [np.flatnonzero(split.domains == label)[position] for position in (0, 1, 3, 4)]
        greedy = Decoding(beam_size=1, max_length_ratio=1.2, max_length_extra=10)
        best = translate_ids(model, [split.source[row] for row in rows], greedy, device=CPU)
        hypotheses = [join_pieces(vocab.decode(one[0].ids)) for one in best]
        references = [data.text("valid", domain, "fr")[row - rows[0]] for row in rows]
        scores.append(BLEU(tokenize="none", force=True).corpus_score(hypotheses, [references]).score)
        assert found[domain]["bleu"] == pytest.approx(scores[-1])
    assert found["all"]["bleu"] == pytest.approx(sum(scores) / 2)


@pytest.mark.parametrize("training", [True, False])
def test_the_model_and_the_generators_are_left_as_they_were(make_spec: Any, data: TaskData, training: bool) -> None:
    model = build_method(make_spec("waldm"), data, torch.device("cpu")).model.train(training)
    before, generator = {k: v.clone() for k, v in model.state_dict().items()}, torch.get_rng_state()
    validation = Validation(data, data.domains, Training(validation_bleu_sentences=2), 0.1)
    validation(model, CPU, None)
    validation.on_training_text(model, CPU, None)
    assert model.training is training
    assert torch.equal(torch.get_rng_state(), generator)
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert all(parameter.grad is None for parameter in model.parameters())


def test_the_training_sample_is_of_its_domain_and_always_the_same(data: TaskData) -> None:
    split = data.split("train")
    for label in range(len(data.domains)):
        rows = training_sample(split, label, Training(training_sample_sentences=7))
        assert len(rows) == 7 and (np.diff(rows) > 0).all()
        assert (split.domains[rows] == label).all()
        assert rows.tolist() == training_sample(split, label, Training(training_sample_sentences=7)).tolist()
        everything = training_sample(split, label, Training(training_sample_sentences=100_000))
        assert everything.tolist() == np.flatnonzero(split.domains == label).tolist()
        assert set(np.diff(rows)) != {np.diff(rows)[0]}  # drawn, not every n-th


def test_long_pairs_are_not_in_the_training_sample(data: TaskData) -> None:
    split = data.split("train")
    longest = np.maximum(split.source.lengths, split.target.lengths)
    bound = int(np.median(longest))
    rows = training_sample(split, 0, Training(training_sample_sentences=100_000, max_length=bound))
    assert 0 < len(rows) < (split.domains == 0).sum() and (longest[rows] <= bound).all()


def test_the_training_sample_is_measured_without_dropout_like_validation_text(make_spec: Any, data: TaskData) -> None:
    torch.manual_seed(2)
    spec = make_spec("waldm", architecture={"dropout": 0.5})
    model = build_method(spec, data, CPU).model.train()
    recipe = Training(validation_bleu_sentences=0, training_sample_sentences=5)
    validation = Validation(data, data.domains, recipe, 0.1)
    found = validation.on_training_text(model, CPU, None)
    assert model.training and set(found) == {*data.domains, "all"}
    # The same sentences in the place of validation text.
    validation.split = data.split("train")
    validation.rows = {
        domain: training_sample(validation.split, label, recipe) for label, domain in enumerate(data.domains)
    }
    assert found == validation(model, CPU, None)
    assert (
        Validation(data, data.domains, Training(training_sample_sentences=0), 0.1).on_training_text(model, CPU, None)
        == {}
    )


def test_only_the_domains_of_the_run_are_measured(make_spec: Any, data: TaskData) -> None:
    model = build_method(make_spec("transformer"), data, torch.device("cpu")).model
    found = Validation(data, ("law",), Training(validation_bleu_sentences=2), 0.1)(model, CPU, None)
    assert set(found) == {"law", "all"}
    assert found["law"] == found["all"]
