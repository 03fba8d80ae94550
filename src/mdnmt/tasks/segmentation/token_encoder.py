"""Learn BPE codes and vocabularies on the training text, and turn the words of all splits into token ids."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mdnmt.config.task import SegmentationConfig, VocabularyConfig
from mdnmt.tasks.segmentation import bpe, sentence_pieces
from mdnmt.tasks.segmentation.segmenter import codes_file
from mdnmt.tasks.segmentation.sentence_pieces import SentencePieces
from mdnmt.tasks.segmentation.vocabulary import Vocab
from mdnmt.tasks.text.pair_text import SIDES
from mdnmt.tasks.workers import ParallelMap, in_this_process

# The end of a line is the last word of each table; it occurs in no text, and its only piece is </s>.
END = "\n"
_TABLES_PER_PROCESS = 2  # one per side


@dataclass(frozen=True)
class WordTable:
    """Words in a fixed order; word k has the pieces `ids[offsets[k] : offsets[k + 1]]`."""

    words: list[str]
    ids: NDArray[np.int32]
    offsets: NDArray[np.int64]

    @classmethod
    def of(cls, pieces: Mapping[str, Sequence[str]], vocab: Vocab) -> WordTable:
        """Return the table of the words in `pieces`."""
        words = sorted(pieces)
        numbers = [*(vocab.encode(pieces[word]) for word in words), [Vocab.eos]]
        offsets = np.cumsum([0, *map(len, numbers)], dtype=np.int64)
        ids = np.fromiter((number for row in numbers for number in row), dtype=np.int32, count=int(offsets[-1]))
        return cls([*words, END], ids, offsets)

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """How many pieces each word has."""
        return np.diff(self.offsets)

    @cached_property
    def _index(self) -> dict[str, int]:
        return {word: number for number, word in enumerate(self.words)}

    @property
    def end(self) -> int:
        """Return the index of the end of a line."""
        return len(self.words) - 1

    def indices(self, lines: Sequence[str]) -> NDArray[np.int64]:
        """Return the indices of the words of tokenised lines, each line followed by `end`."""
        if not lines:
            return np.zeros(0, dtype=np.int64)
        find = self._index.__getitem__
        return np.array([*map(find, f" {END} ".join([*lines, ""]).split(" ")[:-1])], dtype=np.int64)

    def pieces(self, words: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return the token ids of words, given by their indices, end to end."""
        lengths = self.lengths[words]
        ends = np.cumsum(lengths)
        total = int(ends[-1]) if len(ends) else 0
        places = np.repeat(self.offsets[words] - (ends - lengths), lengths) + np.arange(total)
        return np.asarray(self.ids[places], dtype=np.int32)

    def line_lengths(self, words: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how many pieces each line has, </s> included."""
        ends = np.cumsum(self.lengths[words])[words == self.end]
        lengths: NDArray[np.int64] = np.diff(ends, prepend=0)
        return lengths

    def unknown(self) -> NDArray[np.bool_]:
        """Return, for each word, whether it has a piece that is <unk>."""
        owners = np.repeat(np.arange(len(self.words)), self.lengths)
        found = np.zeros(len(self.words), dtype=np.bool_)
        found[owners[self.ids == Vocab.unk]] = True
        return found

    def among(self, words: Collection[str]) -> NDArray[np.bool_]:
        """Return, for each word, whether it is one of `words`."""
        return np.array([word in words for word in self.words], dtype=np.bool_)

    @classmethod
    def load(cls, folder: Path) -> WordTable:
        """Return a table that `save` wrote."""
        ids, offsets = (np.load(folder / f"{name}.npy", allow_pickle=False) for name in ("ids", "offsets"))
        return cls((folder / "words").read_bytes().decode().split("\0"), ids, offsets)

    def save(self, folder: Path) -> None:
        """Write the table for other processes."""
        folder.mkdir(parents=True)
        (folder / "words").write_bytes("\0".join(self.words).encode())
        np.save(folder / "ids.npy", self.ids, allow_pickle=False)
        np.save(folder / "offsets.npy", self.offsets, allow_pickle=False)


@lru_cache(maxsize=_TABLES_PER_PROCESS)
def word_table(folder: Path) -> WordTable:
    """Return a saved table; each worker process reads it once."""
    return WordTable.load(folder)


# (split, domain, side) -> how often each word occurs
WordCounts = Mapping[tuple[str, str, str], Mapping[str, int]]
_WORDS_PER_JOB = 5000


@dataclass(frozen=True)
class Encoder:
    """Turns the words of a task into token ids.

    Attributes:
        tables: (domain, side) -> every word of every split, with its token ids; tables are shared if codes and
            vocabulary are.
        folders: (domain, side) -> the folder with the table, for other processes.
        train_words: side -> the words of the training text.
    """

    tables: dict[tuple[str, str], WordTable]
    folders: dict[tuple[str, str], Path]
    train_words: dict[str, set[str]]

    @classmethod
    def load(cls, folder: Path, names: Mapping[tuple[str, str], str], train_words: dict[str, set[str]]) -> Encoder:
        """Return the encoder with the tables that `learn_encoder` wrote to `folder`."""
        tables = {name: WordTable.load(folder / name) for name in set(names.values())}
        of = {key: tables[name] for key, name in names.items()}
        return cls(of, {key: folder / name for key, name in names.items()}, train_words)

    def both(self, domain: str) -> tuple[Path, Path]:
        """Return the paths of the tables of both sides of a domain."""
        source, target = (self.folders[domain, side] for side in SIDES)
        return source, target


def learn_encoder(
    counts: WordCounts,
    langs: tuple[str, str],
    segmentation: SegmentationConfig,
    vocabulary: VocabularyConfig,
    folder: Path,
    run: ParallelMap = in_this_process,
) -> tuple[dict[str, str | bytes], dict[str, Vocab], dict[tuple[str, str], str]]:
    """Learn codes and vocabularies on the `train` splits, and write tables of the words of all splits.

    Args:
        counts: how often each word occurs in each split.
        langs: source and target language.
        segmentation: which text shares codes, and how many merges they have.
        vocabulary: which pieces get an id.
        folder: in which a folder for each table is made.
        run: applies a function to jobs, in processes.

    Returns:
        File name -> codes, or a model of sentencepiece; side -> vocabulary; (domain, side) -> the name of the folder
        that has the token ids of its words.
    """
    train: dict[tuple[str, str], Mapping[str, int]] = {}
    words: dict[tuple[str, str], set[str]] = {}
    for (split, domain, side), found in counts.items():
        words.setdefault((domain, side), set()).update(found)
        if split == "train":
            train[domain, side] = found
    lang_of = dict(zip(SIDES, langs, strict=True))
    files = {key: codes_file(segmentation.bpe, lang_of[key[1]], key[0]) for key in train}
    codes = _learn_codes(train, files, segmentation, run)
    pieces_of = {name: _pieces(codes[name] if name else None, files, words, name, run) for name in set(files.values())}
    vocabs = _vocabs(train, files, pieces_of, vocabulary, codes)
    return codes, vocabs, _save_tables(pieces_of, files, vocabs, folder)


def _learn_codes(
    train: Mapping[tuple[str, str], Mapping[str, int]],
    files: Mapping[tuple[str, str], str | None],
    segmentation: SegmentationConfig,
    run: ParallelMap,
) -> dict[str, str | bytes]:
    counts: dict[str, Counter[str]] = {}
    merges: dict[str, int] = {}
    for (domain, side), name in files.items():
        if name is not None:
            counts.setdefault(name, Counter()).update(train[domain, side])
            merges[name] = segmentation.merge_operations.get(domain, segmentation.bpe_merge_operations)
    names = sorted(counts)
    learn: Any = sentence_pieces.learn_job if segmentation.is_sentencepiece else bpe.learn_job
    learned = run(learn, ((counts[name], merges[name]) for name in names))
    return dict(zip(names, learned, strict=True))


def _pieces(
    codes: str | bytes | None,
    files: Mapping[tuple[str, str], str | None],
    words: Mapping[tuple[str, str], set[str]],
    name: str | None,
    run: ParallelMap,
) -> dict[str, list[str]]:
    """Return the pieces of all words that the codes of file `name` segment."""
    found = sorted(set().union(*(words[key] for key in files if files[key] == name)))
    if codes is None:
        return {word: [word] for word in found}
    jobs = ((codes, found[start : start + _WORDS_PER_JOB]) for start in range(0, len(found), _WORDS_PER_JOB))
    pieces = (one for chunk in run(bpe.segment_words, jobs) for one in chunk)
    return dict(zip(found, pieces, strict=True))


def _vocabs(
    train: Mapping[tuple[str, str], Mapping[str, int]],
    files: Mapping[tuple[str, str], str | None],
    pieces_of: Mapping[str | None, Mapping[str, list[str]]],
    vocabulary: VocabularyConfig,
    codes: Mapping[str, str | bytes],
) -> dict[str, Vocab]:
    """Return the vocabulary of each side; the same for both if it is joint."""
    counts_of: dict[str, Counter[str]] = {side: Counter() for side in SIDES}
    for (domain, side), counts in train.items():
        pieces, found = pieces_of[files[domain, side]], counts_of[side]
        for word, count in counts.items():
            for piece in pieces[word]:
                found[piece] += count
    for (_, side), name in files.items():
        if name is not None and isinstance(model := codes[name], bytes):
            # All pieces, so that bytes stand for characters that training text does not have.
            counts_of[side] |= dict.fromkeys(SentencePieces(model).vocabulary(), 1)
    bounds = vocabulary.min_count, vocabulary.max_size
    if vocabulary.joint:
        return dict.fromkeys(SIDES, Vocab.from_counts(counts_of["source"] + counts_of["target"], *bounds))
    return {side: Vocab.from_counts(counts_of[side], *bounds) for side in SIDES}


def _save_tables(
    pieces_of: Mapping[str | None, Mapping[str, list[str]]],
    files: Mapping[tuple[str, str], str | None],
    vocabs: Mapping[str, Vocab],
    folder: Path,
) -> dict[tuple[str, str], str]:
    """Write the tables and return the name of each by (domain, side); the same codes and vocabulary share a table."""
    made: dict[tuple[str | None, int], str] = {}
    for (_, side), name in files.items():
        key = name, id(vocabs[side])
        if key not in made:
            made[key] = f"{len(made):03d}"
            WordTable.of(pieces_of[name], vocabs[side]).save(folder / made[key])
    return {key: made[name, id(vocabs[key[1]])] for key, name in files.items()}
