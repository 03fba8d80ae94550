"""Words whose translation depends on the domain, found in a task's own training text (Jiang et al. 2020, sec. 5)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from scipy import sparse  # type: ignore[import-untyped]

from mdnmt.analysis.word_records import words_of
from mdnmt.config.base import Frozen
from mdnmt.tasks.segmentation.vocabulary import Vocab
from mdnmt.tasks.task_data import Ragged, TaskData
from mdnmt.train.batches import spread


class AmbiguityConfig(Frozen):
    """When a word counts as ambiguous; all shares are of training sentences."""

    max_sentences: int = Field(50_000, gt=0, description="of each domain that are counted")
    min_sentences: int = Field(20, gt=0, description="of a domain that have the word")
    max_share: float = Field(0.1, gt=0, le=1, description="of a domain's sentences; function words occur in more")
    min_association: float = Field(0.3, gt=0, le=1, description="Dice coefficient of a word and its translation")
    min_contrast: float = Field(0.25, gt=0, le=1, description="how much rarer a translation is in the other domain")
    max_words: int = Field(200, gt=0, description="the most telling ones")


@dataclass(frozen=True)
class CooccurrenceCounts:
    """In how many sentences of a domain words occur, separately ([S], [T]) and together ([S, T], sparse)."""

    num_sentences: int
    source_S: NDArray[np.int64]
    target_T: NDArray[np.int64]
    both_ST: Any

    def given(self, source: int, target: int) -> float:
        """Return the share of the sentences with a source word whose translation has the target word."""
        return float(self.both_ST[source, target]) / max(1, int(self.source_S[source]))


def find_ambiguous_words(data: TaskData, config: AmbiguityConfig) -> list[dict[str, Any]]:
    """Return the ambiguous words of a task, the most telling first.

    A word's translation in a domain is the target word with the highest Dice coefficient with it, if the word is also
    the best one for that translation. It is ambiguous if in two domains it has two translations with different
    beginnings, each of which is rarer by `min_contrast`, as a share of the sentences with the word, in the domain of
    the other. Words are compared without case.

    Returns:
        [{"word", "translations": {domain: word}, "sentences": {domain: count}, "contrast": 0 to 1}]
    """
    split = data.split("train")
    source_words: dict[str, int] = {}
    target_words: dict[str, int] = {}
    rows = [spread(np.flatnonzero(split.domains == label), config.max_sentences) for label in range(len(data.domains))]
    source = [_presence(split.source, data.source_vocab, chosen, source_words) for chosen in rows]
    target = [_presence(split.target, data.target_vocab, chosen, target_words) for chosen in rows]
    shape = len(source_words), len(target_words)
    domains = {
        domain: _counted(x, y, shape) for domain, x, y in zip(data.domains, source, target, strict=True) if x.shape[0]
    }
    translations = {domain: _translations(counts, config) for domain, counts in domains.items()}
    names, meanings = list(source_words), list(target_words)
    found: list[dict[str, Any]] = []
    for number in sorted(set().union(*translations.values())):
        own = {domain: pairs[number] for domain, pairs in translations.items() if number in pairs}
        contrast = max((_contrast(domains, own, number, meanings, pair) for pair in combinations(own, 2)), default=0.0)
        if contrast >= config.min_contrast and names[number].isalpha():
            found.append(
                {
                    "word": names[number],
                    "translations": {domain: meanings[target] for domain, target in own.items()},
                    "sentences": {domain: int(domains[domain].source_S[number]) for domain in own},
                    "contrast": contrast,
                }
            )
    return sorted(found, key=lambda word: (-word["contrast"], word["word"]))[: config.max_words]


def are_different_words(one: str, other: str) -> bool:
    """Return whether two words are more than forms of one: less than half of the shorter is a common beginning."""
    shorter = min(len(one), len(other))
    alike = next((place for place in range(shorter) if one[place] != other[place]), shorter)
    return 2 * alike < shorter


def _presence(side: Ragged, vocab: Vocab, rows: NDArray[np.int64], words: dict[str, int]) -> Any:
    """Return which words each sentence has, [sentences, words], sparse; new words are added to `words`."""
    columns: list[int] = []
    ends = [0]
    for row in rows:
        seen = (word.casefold() for word, _ in words_of(vocab, side[int(row)]))
        columns += sorted({words.setdefault(word, len(words)) for word in seen})
        ends.append(len(columns))
    data = np.ones(len(columns), dtype=np.int32)
    return sparse.csr_matrix((data, columns, ends), shape=(len(rows), max(1, len(words))))


def _counted(x_NS: Any, y_NT: Any, shape: tuple[int, int]) -> CooccurrenceCounts:
    x_NS.resize(x_NS.shape[0], shape[0])
    y_NT.resize(y_NT.shape[0], shape[1])
    alone = [np.asarray(matrix.sum(axis=0), dtype=np.int64).ravel() for matrix in (x_NS, y_NT)]
    return CooccurrenceCounts(x_NS.shape[0], alone[0], alone[1], (x_NS.T @ y_NT).tocsr())


def _translations(counts: CooccurrenceCounts, config: AmbiguityConfig) -> dict[int, int]:
    """Return source word -> target word of one domain, for words that are each other's best."""
    pairs = counts.both_ST.tocoo()
    frequent = counts.source_S[pairs.row] >= config.min_sentences
    dice = 2.0 * pairs.data / (counts.source_S[pairs.row] + counts.target_T[pairs.col])
    kept = frequent & (dice >= config.min_association)
    # Over all pairs, not the kept ones alone: a function word may be the better partner.
    association_ST = sparse.csr_matrix((dice, (pairs.row, pairs.col)), shape=pairs.shape)
    best_T = np.asarray(association_ST.argmax(axis=1)).ravel()
    best_S = np.asarray(association_ST.argmax(axis=0)).ravel()
    most = config.max_share * counts.num_sentences
    return {
        int(row): int(best_T[row])
        for row in np.unique(pairs.row[kept])
        if counts.source_S[row] <= most
        and best_S[best_T[row]] == row
        and association_ST[row, best_T[row]] >= config.min_association
    }


def _contrast(
    domains: dict[str, CooccurrenceCounts], own: dict[str, int], number: int, meanings: list[str], pair: tuple[str, str]
) -> float:
    """Return how much rarer, at least, each domain's translation of a word is in the other domain of the pair."""
    one, other = pair
    if not are_different_words(meanings[own[one]], meanings[own[other]]):
        return 0.0
    return min(
        domains[here].given(number, own[here]) - domains[there].given(number, own[here])
        for here, there in (pair, pair[::-1])
    )
