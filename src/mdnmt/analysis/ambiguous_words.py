"""Find words whose translation depends on the domain in a task's own training text (Jiang et al. 2020, sec. 5)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from scipy import sparse  # type: ignore[import-untyped]

from mdnmt.config.base import Frozen
from mdnmt.tasks.segmentation.vocabulary import Vocab
from mdnmt.tasks.task_data import Ragged, TaskData
from mdnmt.train.batches import spread


class AmbiguityConfig(Frozen):
    """The thresholds of an ambiguous word; all shares are shares of training sentences."""

    max_sentences: int = Field(50_000, gt=0, description="of each domain that are counted")
    min_sentences: int = Field(20, gt=0, description="of a domain that have the word")
    max_share: float = Field(0.1, gt=0, le=1, description="of a domain's sentences; function words occur in more")
    min_association: float = Field(0.3, gt=0, le=1, description="Dice coefficient of a word and its translation")
    min_contrast: float = Field(0.25, gt=0, le=1, description="how much rarer a translation is in the other domain")
    max_words: int = Field(200, gt=0, description="the most telling ones")


@dataclass(frozen=True)
class CooccurrenceCounts:
    """Numbers of sentences of a domain that contain source words [S], target words [T] and pairs [S, T] (sparse)."""

    num_sentences: int
    source_S: NDArray[np.int64]
    target_T: NDArray[np.int64]
    both_ST: Any

    def given(self, source: int, target: int) -> float:
        """Return the share of the sentences with the source word whose translation contains the target word."""
        return float(self.both_ST[source, target]) / max(1, int(self.source_S[source]))


def find_ambiguous_words(data: TaskData, config: AmbiguityConfig) -> list[dict[str, Any]]:
    """Return the ambiguous words of a task, sorted by contrast, the largest first.

    A word's translation in a domain is the target word with which it has the highest Dice coefficient, provided that
    the source word is in turn that target word's best partner. A word is ambiguous if its translations in two domains
    are different words (`are_different_words`) and its contrast is at least `min_contrast`. The contrast compares how
    often each of the two translations occurs in the sentences with the word: it is the smaller of the two drops from
    the translation's own domain to the other one. Words are casefolded.

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
    """Return whether two words are more than two forms of one: their common prefix is under half of the shorter one."""
    shorter = min(len(one), len(other))
    alike = next((place for place in range(shorter) if one[place] != other[place]), shorter)
    return 2 * alike < shorter


def _presence(side: Ragged, vocab: Vocab, rows: NDArray[np.int64], words: dict[str, int]) -> Any:
    """Return a sparse 0/1 matrix [sentences, words] of the words in each sentence; new words are added to `words`."""
    columns: list[int] = []
    ends = [0]
    for row in rows:
        seen = (word.casefold() for word, _ in vocab.words(side[int(row)].tolist()))
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
    """Return source word -> target word of one domain, for words that are each other's best partner."""
    pairs = counts.both_ST.tocoo()
    frequent = counts.source_S[pairs.row] >= config.min_sentences
    dice = 2.0 * pairs.data / (counts.source_S[pairs.row] + counts.target_T[pairs.col])
    kept = frequent & (dice >= config.min_association)
    # Over all pairs, not only the kept ones: a function word may be a better partner.
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
    """Return the contrast of a word in a pair of domains, see `find_ambiguous_words`; 0 for forms of one word."""
    one, other = pair
    if not are_different_words(meanings[own[one]], meanings[own[other]]):
        return 0.0
    return min(
        domains[here].given(number, own[here]) - domains[there].given(number, own[here])
        for here, there in (pair, pair[::-1])
    )
