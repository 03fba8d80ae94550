"""From words to numbers: learn codes and vocabularies on the training text, and number the words of all splits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from mdnmt.config.task import SegmentationConfig, VocabularyConfig
from mdnmt.tasks import bpe
from mdnmt.tasks.segment import codes_file
from mdnmt.tasks.tokenised import SIDES
from mdnmt.tasks.vocab import Vocab
from mdnmt.tasks.word_table import WordTable
from mdnmt.tasks.workers import Map, in_this_process

# (split, domain, side) -> how often each word occurs
WordCounts = Mapping[tuple[str, str, str], Mapping[str, int]]
_WORDS_PER_JOB = 5000


@dataclass
class Encoder:
    """What was learned on the training text of a task.

    Attributes:
        codes: file name -> codes.
        vocabs: side -> vocabulary.
        tables: (domain, side) -> every word of every split, with the numbers of its pieces; shared where codes and
            vocabulary are.
        folders: (domain, side) -> where the table stands for other processes.
        train_words: side -> the words of the training text.
    """

    codes: dict[str, str]
    vocabs: dict[str, Vocab]
    tables: dict[tuple[str, str], WordTable]
    folders: dict[tuple[str, str], Path]
    train_words: dict[str, set[str]]

    def both(self, domain: str) -> tuple[Path, Path]:
        """Return where the tables of both sides of a domain stand."""
        source, target = (self.folders[domain, side] for side in SIDES)
        return source, target


def learn_encoder(
    counts: WordCounts,
    langs: tuple[str, str],
    segmentation: SegmentationConfig,
    vocabulary: VocabularyConfig,
    scratch: Path,
    run: Map = in_this_process,
) -> Encoder:
    """Return codes and vocabularies learned on the splits called `train`, ready for the words of all.

    Args:
        counts: the words of all splits.
        langs: source and target language.
        segmentation: which text shares codes, and how many merges they have.
        vocabulary: which pieces get a number.
        scratch: a folder for the tables.
        run: applies a function to jobs, in processes.
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
    vocabs = _vocabs(train, files, pieces_of, vocabulary)
    tables, folders = _tables(pieces_of, files, vocabs, scratch)
    train_words = {side: {word for key in train if key[1] == side for word in train[key]} for side in SIDES}
    return Encoder(codes, vocabs, tables, folders, train_words)


def _learn_codes(
    train: Mapping[tuple[str, str], Mapping[str, int]],
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
    learned = run(bpe.learn_job, ((counts[name], merges[name]) for name in names))
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
    jobs = ((codes, found[start : start + _WORDS_PER_JOB]) for start in range(0, len(found), _WORDS_PER_JOB))
    pieces = (one for chunk in run(bpe.take_apart, jobs) for one in chunk)
    return dict(zip(found, pieces, strict=True))


def _vocabs(
    train: Mapping[tuple[str, str], Mapping[str, int]],
    files: Mapping[tuple[str, str], str | None],
    pieces_of: Mapping[str | None, Mapping[str, list[str]]],
    vocabulary: VocabularyConfig,
) -> dict[str, Vocab]:
    """Return the vocabulary of each side, one for both where it is joint."""
    counts_of: dict[str, Counter[str]] = {side: Counter() for side in SIDES}
    for (domain, side), counts in train.items():
        pieces, found = pieces_of[files[domain, side]], counts_of[side]
        for word, count in counts.items():
            for piece in pieces[word]:
                found[piece] += count
    bounds = vocabulary.min_count, vocabulary.max_size
    if vocabulary.joint:
        return dict.fromkeys(SIDES, Vocab.from_counts(counts_of["source"] + counts_of["target"], *bounds))
    return {side: Vocab.from_counts(counts_of[side], *bounds) for side in SIDES}


def _tables(
    pieces_of: Mapping[str | None, Mapping[str, list[str]]],
    files: Mapping[tuple[str, str], str | None],
    vocabs: Mapping[str, Vocab],
    scratch: Path,
) -> tuple[dict[tuple[str, str], WordTable], dict[tuple[str, str], Path]]:
    """Return tables and their folders by (domain, side); what shares codes and vocabulary shares them."""
    made: dict[tuple[str | None, int], tuple[WordTable, Path]] = {}
    for (_, side), name in files.items():
        key = name, id(vocabs[side])
        if key not in made:
            table, folder = WordTable.of(pieces_of[name], vocabs[side]), scratch / f"{len(made):03d}"
            table.save(folder)
            made[key] = table, folder
    of = {key: made[name, id(vocabs[key[1]])] for key, name in files.items()}
    return {key: table for key, (table, _) in of.items()}, {key: folder for key, (_, folder) in of.items()}
