"""The analysed words of a run: what each layer recorded for them, and how the training text uses them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from mdnmt.exhibits import analysis_files
from mdnmt.exhibits.analysis_files import Floats, Ints
from mdnmt.exhibits.figure_numbers import entropy
from mdnmt.fsio import read_json

END, START = -1, -2  # in `word_M`: </s> of the source, <s> before the target
MIN_COUNT = 5  # occurrences of a word in all training text; with fewer, its distribution over domains is chance
NUM_FUNCTION_WORDS = 20
SHARED, SPECIFIC = 0.8, 0.9  # entropy of a word's use over domains; share of the domain that uses it most

Chosen = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class AnalysedWords:
    """M word occurrences in the text of K domains, with the pieces of each word joined.

    Attributes:
        values_LMK: the shares that each layer recorded for a word: the mean over its pieces.
        domain_M: domain label of the word's sentence.
        word_M: number of the word, END or START.
        position_M: position of its first piece in the sentence, from 0.
        words: the words, by number.
        counts_WK: how often each domain's training text has it.
        totals_K: number of words of each domain's training text.
    """

    values_LMK: Floats
    domain_M: Ints
    word_M: Ints
    position_M: Ints
    words: list[str]
    counts_WK: Ints
    totals_K: Ints

    @property
    def is_word_M(self) -> Chosen:
        """Return which positions are words, not the end or start of a sentence."""
        found: Chosen = self.word_M >= 0
        return found

    @property
    def share_WK(self) -> Floats:
        """Return how a word's use is spread over domains, each domain's text counting the same: rows sum to one."""
        rate_WK = (self.counts_WK + 0.5) / np.maximum(self.totals_K, 1)
        found: Floats = rate_WK / rate_WK.sum(axis=1, keepdims=True)
        return found

    def own_share_LM(self) -> Floats:
        """Return the share that each layer gives to the domain of the word's sentence."""
        found: Floats = np.take_along_axis(self.values_LMK, self.domain_M[None, :, None], axis=2)[..., 0]
        return found

    def classes(self) -> dict[str, Ints]:
        """Return the numbers of the words in each class, which are found in the training text without word lists.

        All words consist of letters. `function`: the 20 words with the highest rate in the domain that uses them least.
        `shared`: others that the domains use about equally (entropy of the use above 0.8). `specific`: one domain has
        more than 0.9 of the use. Words of the last two classes occur at least 5 times.
        """
        letters = np.array([word.isalpha() for word in self.words], dtype=bool)
        least = np.where(letters, (self.counts_WK / np.maximum(self.totals_K, 1)).min(axis=1), 0.0)
        function = np.argsort(-least, kind="stable")[:NUM_FUNCTION_WORDS]
        function = function[least[function] > 0]
        frequent = letters & (self.counts_WK.sum(axis=1) >= MIN_COUNT)
        frequent[function] = False
        return {
            "function": function,
            "shared": np.flatnonzero(frequent & (entropy(self.share_WK) > SHARED)),
            "specific": np.flatnonzero(frequent & (self.share_WK.max(axis=1) > SPECIFIC)),
        }

    def mean_by_word(self, values_LM: Floats, chosen_M: Chosen, least: int = 1) -> tuple[Ints, Floats]:
        """Return the words that occur at least `least` times among the chosen positions, and their means [L, W]."""
        numbers, place, count = np.unique(self.word_M[chosen_M], return_inverse=True, return_counts=True)
        sums = np.stack([np.bincount(place, row[chosen_M], len(numbers)) for row in values_LM])
        kept = count >= least
        return numbers[kept], (sums / np.maximum(count, 1))[:, kept]


def read(directory: Path, name: str) -> dict[str, AnalysedWords]:
    """Return side (encoder, memory, decoder) -> words of an analysis's `<name>.npz`; empty if the method has none.

    Raises:
        DataError: the analysis is damaged.
    """
    stored = analysis_files.arrays(directory / f"{name}.npz")
    lexicon = read_json(directory / "lexicon.json")
    found: dict[str, AnalysedWords] = {}
    for side in ("encoder", "memory", "decoder"):
        if side not in stored:
            continue
        known = lexicon["target" if side == "decoder" else "source"]
        occurrence = stored[f"{side}_occurrence"]
        first = np.flatnonzero(np.diff(occurrence, prepend=-1))
        size = np.diff(first, append=len(occurrence))
        values = np.add.reduceat(stored[side].astype(np.float64), first, axis=1) / size[:, None]
        found[side] = AnalysedWords(
            values_LMK=values,
            domain_M=stored[f"{side}_domain"][first].astype(np.int64),
            word_M=stored[f"{side}_word"][first].astype(np.int64),
            position_M=stored[f"{side}_position"][first].astype(np.int64),
            words=known["words"],
            counts_WK=np.asarray(known["counts"], dtype=np.int64),
            totals_K=np.asarray(known["totals"], dtype=np.int64),
        )
    return found
