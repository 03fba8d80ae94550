"""Counts of words in the training text of each domain."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import torch

from mdnmt.tasks.data import TaskData
from mdnmt.train.counts import count_words


def test_every_word_of_the_training_text_is_counted_in_its_domain(toy_task: Path) -> None:
    data = TaskData.load(toy_task)
    split = data.split("train")
    found = count_words(data, torch.device("cpu"))
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
