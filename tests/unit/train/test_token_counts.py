"""Counts of words in the training text of each domain."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from mdnmt.errors import ConfigError
from mdnmt.tasks.task_data import TaskData
from mdnmt.train.run import build_method
from mdnmt.train.token_counts import count_tokens


def test_every_word_of_the_training_text_is_counted_in_its_domain(toy_task: Path) -> None:
    data = TaskData.load(toy_task)
    split = data.split("train")
    found = count_tokens(data, np.arange(len(split.source)), torch.device("cpu"))
    sides = (
        (found.source_KV, split.source, data.source_vocab),
        (found.target_KV, split.target, data.target_vocab),
    )
    for counts_KV, side, vocab in sides:
        expected = [Counter[int]() for _ in data.domains]
        for row, label in enumerate(split.domains):
            expected[label].update(side[row].tolist())
        assert counts_KV.tolist() == [[counter[word] for word in range(len(vocab))] for counter in expected]
        # Every sentence ends, none begins with a word of its own, and none is padded.
        assert counts_KV[:, vocab.eos].tolist() == [60, 60]
        assert not counts_KV[:, [vocab.pad, vocab.bos]].any()


def test_only_sentences_that_are_trained_on_count(toy_task: Path) -> None:
    data = TaskData.load(toy_task)
    split = data.split("train")
    rows = np.flatnonzero(split.domains == 1)[:7]
    found = count_tokens(data, rows, torch.device("cpu"))
    assert not found.source_KV[0].any() and not found.target_KV[0].any()
    assert found.source_KV[1].sum() == split.source.lengths[rows].sum()
    assert found.target_KV[1].sum() == split.target.lengths[rows].sum()
    nothing = count_tokens(data, rows[:0], torch.device("cpu"))
    assert not nothing.source_KV.any() and nothing.target_KV.shape == found.target_KV.shape


def test_guided_learning_gets_the_words_of_each_domain_in_the_order_of_labels(make_spec: Any, toy_task: Path) -> None:
    data, cpu = TaskData.load(toy_task), torch.device("cpu")
    spec = make_spec("domain_aware_attention", architecture={"guidance_weight": 1.0, "num_clusters": 2})
    guided = build_method(spec, data, cpu).losses[1]
    # "price" stands in the economy's text alone, "judge" in the law's: toy words of tests/conftest.py.
    counts = count_tokens(data, np.arange(len(data.split("train").source)), cpu).source_KV
    only = [(counts[label] > 5) & (counts[1 - label] == 0) for label in (0, 1)]
    assert only[0].any() and only[1].any()
    for label in (0, 1):
        assert (guided.source_VN[only[label]].argmax(1) == label).all()  # type: ignore[attr-defined]


def test_guided_learning_on_one_domain_alone_is_refused(make_spec: Any, toy_task: Path) -> None:
    spec = make_spec("domain_aware_attention", architecture={"guidance_weight": 1.0}, domains=["law"])
    with pytest.raises(ConfigError, match="every domain") as caught:
        build_method(spec, TaskData.load(toy_task), torch.device("cpu"))
    assert "\n" not in str(caught.value)
