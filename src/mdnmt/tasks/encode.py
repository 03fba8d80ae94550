"""From tokenised text to numbers: learn the codes and vocabularies on the training text, apply them to all splits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from mdnmt.config.task import SegmentationConfig, VocabularyConfig
from mdnmt.tasks import bpe
from mdnmt.tasks.vocab import Vocab

SIDES = ("source", "target")
# (split, domain, side) -> tokenised lines, tokens separated by blanks
Tokenised = Mapping[tuple[str, str, str], Sequence[str]]


@dataclass
class Encoder:
    """What was learned on the training text of a task."""

    codes: str
    vocabs: dict[str, Vocab]
    # side -> word -> numbers of its pieces, for every word of every split
    numbers: dict[str, dict[str, list[int]]]
    # side -> the words of the training text
    train_words: dict[str, set[str]]

    def encode(self, line: str, side: str) -> list[int]:
        """Return the numbers of a tokenised line's pieces, without </s>."""
        known = self.numbers[side]
        return [number for word in line.split(" ") for number in known[word]]


def count_words(lines: Iterable[str]) -> Counter[str]:
    """Return how often each word occurs in tokenised lines."""
    counts: Counter[str] = Counter()
    for line in lines:
        counts.update(line.split(" "))
    return counts


def learn_encoder(tokenised: Tokenised, segmentation: SegmentationConfig, vocabulary: VocabularyConfig) -> Encoder:
    """Return codes and vocabularies learned on the splits called `train`, ready for the words of all."""
    train: dict[str, Counter[str]] = {side: Counter() for side in SIDES}
    words: dict[str, set[str]] = {side: set() for side in SIDES}
    for (split, _, side), lines in tokenised.items():
        counts = count_words(lines)
        words[side].update(counts)
        if split == "train":
            train[side].update(counts)
    codes = bpe.learn(train["source"] + train["target"], segmentation.bpe_merge_operations)
    segmenter = bpe.Bpe(codes)
    pieces: dict[str, Counter[str]] = {side: Counter() for side in SIDES}
    for side in SIDES:
        for word, count in train[side].items():
            for piece in segmenter.pieces(word):
                pieces[side][piece] += count
    if vocabulary.joint:
        shared = Vocab.from_counts(pieces["source"] + pieces["target"], vocabulary.min_count)
        vocabs = dict.fromkeys(SIDES, shared)
    else:
        vocabs = {side: Vocab.from_counts(pieces[side], vocabulary.min_count) for side in SIDES}
    numbers = {
        side: {word: vocabs[side].encode(segmenter.pieces(word)) for word in sorted(words[side])} for side in SIDES
    }
    return Encoder(codes, vocabs, numbers, {side: set(train[side]) for side in SIDES})
