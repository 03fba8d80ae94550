"""Read the files of a run's analysis: domain proportions, sentences and sentence vectors."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mdnmt.errors import DataError
from mdnmt.exhibits.rows import AnalysedRun, Column
from mdnmt.fsio import check_listed, read_json

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
MEDIUM = 14  # preferred number of words in an example sentence: enough for context, few enough to read


@dataclass(frozen=True)
class SentenceWords:
    """The words of one side of a sentence and their proportions, shape [layers, words, domains]."""

    words: list[str]
    proportions: Floats

    def first(self, count: int) -> SentenceWords:
        """Return the first words."""
        return SentenceWords(self.words[:count], self.proportions[:, :count])


def files(run: AnalysedRun, *names: str) -> list[Path]:
    """Return the paths of the files with these names in each analysis of a system."""
    return [seed.analysis / name for seed in run.seeds for name in names]


def arrays(path: Path) -> dict[str, Any]:
    """Return the arrays of an .npz file; pickled arrays are refused.

    Raises:
        DataError: the file is damaged.
    """
    check_listed(path)
    try:
        with np.load(path, allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files}
    except (ValueError, zipfile.BadZipFile) as error:
        raise DataError(f"{path}: expected an .npz of the analysis ({error}); analyse the run again") from error


def domain_names(directory: Path) -> list[str]:
    """Return the task's domains in the order of their labels."""
    return [str(name) for name in read_json(directory / "meta.json")["domains"]]


def labels(names: Sequence[str], columns: Sequence[Column]) -> list[str]:
    """Return the printed name of each domain: the spec's label, or else the name itself."""
    known = {column.name: column.label for column in columns}
    return [known.get(name, name) for name in names]


def choose(sentences: list[dict[str, Any]], domain: str | None, max_words: int) -> int | None:
    """Return the index of the sentence to show, from `domain` if it is given; None if there is no sentence.

    The rule is fixed, so that nobody picks the sentence that looks best: the length nearest to 14 words (or to
    `max_words`, if that is less), and the first of equals.
    """
    best, distance = None, None
    for index, sentence in enumerate(sentences):
        if domain is not None and sentence["domain"] != domain:
            continue
        length = len(_words(sentence["source_tokens"]))
        away = abs(length - min(MEDIUM, max_words))
        if distance is None or away < distance:
            best, distance = index, away
    return best


def find_sentence(directory: Path, number: int | None, domain: str | None, max_words: int) -> dict[str, Any] | None:
    """Return a sentence of an analysis by its number or by `choose`; None if there is none to choose from.

    Raises:
        DataError: there is no sentence of that number.
    """
    sentences = read_json(directory / "sentences.json")
    index = choose(sentences, domain, max_words) if number is None else number
    if index is None:
        return None
    if index >= len(sentences):
        raise DataError(f"{directory}/sentences.json: {len(sentences)} sentences, number {index} was asked for")
    found: dict[str, Any] = sentences[index]
    return found


def _words(pieces: Sequence[str]) -> list[list[int]]:
    """Return the positions of the pieces of each word: `trans@@ late` of BPE, or `▁trans late` of sentencepiece."""
    is_sentencepiece = any(piece.startswith("▁") for piece in pieces)
    found: list[list[int]] = []
    inside = False
    for position, piece in enumerate(pieces):
        if is_sentencepiece:
            inside = bool(found) and not piece.startswith("▁") and piece not in ("<s>", "</s>")
        if inside:
            found[-1].append(position)
        else:
            found.append([position])
        inside = piece.endswith("@@")
    return found


def whole_words(pieces: Sequence[str], proportions: Any) -> SentenceWords:
    """Join pieces into words, each with the mean proportion of its pieces.

    Args:
        pieces: T pieces, including `</s>` and `<s>` if the model sees them.
        proportions: [L][T][K], as in sentences.json.

    Raises:
        DataError: the proportions do not fit the pieces.
    """
    p_LTK = np.asarray(proportions, dtype=np.float64)
    if p_LTK.ndim != 3 or p_LTK.shape[1] != len(pieces):
        raise DataError(f"sentences.json: {len(pieces)} pieces but proportions of shape {list(p_LTK.shape)}")
    members = _words(pieces)
    words = ["".join(pieces[at].removesuffix("@@").removeprefix("▁") for at in word) for word in members]
    shown = [{"</s>": "(end)", "<s>": "(start)"}.get(word, word) for word in words]
    return SentenceWords(shown, np.stack([p_LTK[:, at, :].mean(axis=1) for at in members], axis=1))
