"""From tokenised text to numbers: learn the codes and vocabularies on the training text, apply them to all splits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from mdnmt.config.task import SegmentationConfig, VocabularyConfig
from mdnmt.tasks import bpe
from mdnmt.tasks.segment import codes_file
from mdnmt.tasks.vocab import Vocab
from mdnmt.tasks.workers import Map, in_this_process

SIDES = ("source", "target")
# (split, domain, side) -> tokenised lines, tokens separated by blanks
Tokenised = Mapping[tuple[str, str, str], Sequence[str]]
_WORDS_PER_JOB = 5000


@dataclass
class Encoder:
    """What was learned on the training text of a task."""

    # file name -> codes
    codes: dict[str, str]
    vocabs: dict[str, Vocab]
    # (domain, side) -> word -> numbers of its pieces, for every word of every split
    numbers: dict[tuple[str, str], dict[str, list[int]]]
    # side -> the words of the training text
    train_words: dict[str, set[str]]

    def encode(self, line: str, domain: str, side: str) -> list[int]:
        """Return the numbers of a tokenised line's pieces, without </s>."""
        known = self.numbers[domain, side]
        return [number for word in line.split(" ") for number in known[word]]

    def length(self, line: str, domain: str, side: str) -> int:
        """Return the number of a tokenised line's pieces."""
        known = self.numbers[domain, side]
        return sum(len(known[word]) for word in line.split(" "))


def count_words(lines: Iterable[str]) -> Counter[str]:
    """Return how often each word occurs in tokenised lines."""
    counts: Counter[str] = Counter()
    for line in lines:
        counts.update(line.split(" "))
    return counts


def learn_encoder(
    tokenised: Tokenised,
    langs: tuple[str, str],
    segmentation: SegmentationConfig,
    vocabulary: VocabularyConfig,
    run: Map = in_this_process,
) -> Encoder:
    """Return codes and vocabularies learned on the splits called `train`, ready for the words of all.

    Args:
        tokenised: all lines of all splits.
        langs: source and target language.
        segmentation: which text shares codes, and how many merges they have.
        vocabulary: which pieces get a number.
        run: applies a function to jobs, in processes.
    """
    train: dict[tuple[str, str], Counter[str]] = {}
    words: dict[tuple[str, str], set[str]] = {}
    for (split, domain, side), lines in tokenised.items():
        counts = count_words(lines)
        words.setdefault((domain, side), set()).update(counts)
        if split == "train":
            train[domain, side] = counts
    lang_of = dict(zip(SIDES, langs, strict=True))
    files = {key: codes_file(segmentation.bpe, lang_of[key[1]], key[0]) for key in train}
    codes = _learn_codes(train, files, segmentation, run)
    pieces_of = {name: _pieces(codes[name] if name else None, files, words, name, run) for name in set(files.values())}
    counts_of: dict[str, Counter[str]] = {side: Counter() for side in SIDES}
    for (domain, side), counts in train.items():
        pieces = pieces_of[files[domain, side]]
        for word, count in counts.items():
            for piece in pieces[word]:
                counts_of[side][piece] += count
    bounds = vocabulary.min_count, vocabulary.max_size
    if vocabulary.joint:
        vocabs = dict.fromkeys(SIDES, Vocab.from_counts(counts_of["source"] + counts_of["target"], *bounds))
    else:
        vocabs = {side: Vocab.from_counts(counts_of[side], *bounds) for side in SIDES}
    numbers = _numbers(pieces_of, files, vocabs)
    train_words = {side: {word for key in train if key[1] == side for word in train[key]} for side in SIDES}
    return Encoder(codes, vocabs, numbers, train_words)


def _learn_codes(
    train: Mapping[tuple[str, str], Counter[str]],
    files: Mapping[tuple[str, str], str | None],
    segmentation: SegmentationConfig,
    run: Map,
) -> dict[str, str]:
    counts: dict[str, Counter[str]] = {}
    merges: dict[str, int] = {}
    for (domain, side), name in files.items():
        if name is not None:
            counts.setdefault(name, Counter()).update(train[domain, side])
            merges[name] = segmentation.merge_operations.get(domain, segmentation.bpe_merge_operations)
    names = sorted(counts)
    learned = run(bpe.learn_job, [(counts[name], merges[name]) for name in names])
    return dict(zip(names, learned, strict=True))


def _pieces(
    codes: str | None,
    files: Mapping[tuple[str, str], str | None],
    words: Mapping[tuple[str, str], set[str]],
    name: str | None,
    run: Map,
) -> dict[str, list[str]]:
    """Return the pieces of all words that the codes of file `name` take apart."""
    found = sorted(set().union(*(words[key] for key in files if files[key] == name)))
    if codes is None:
        return {word: [word] for word in found}
    jobs = [(codes, found[start : start + _WORDS_PER_JOB]) for start in range(0, len(found), _WORDS_PER_JOB)]
    pieces = (one for chunk in run(bpe.take_apart, jobs) for one in chunk)
    return dict(zip(found, pieces, strict=True))


def _numbers(
    pieces_of: Mapping[str | None, dict[str, list[str]]],
    files: Mapping[tuple[str, str], str | None],
    vocabs: Mapping[str, Vocab],
) -> dict[tuple[str, str], dict[str, list[int]]]:
    """Return the numbers by (domain, side); what shares codes and vocabulary shares them."""
    made: dict[tuple[str | None, int], dict[str, list[int]]] = {}
    numbers = {}
    for (domain, side), name in files.items():
        vocab = vocabs[side]
        key = name, id(vocab)
        if key not in made:
            made[key] = {word: vocab.encode(pieces) for word, pieces in pieces_of[name].items()}
        numbers[domain, side] = made[key]
    return numbers
