"""Count which translations of ambiguous words systems choose (Jiang et al. 2020, sec. 5, Table 7)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mdnmt.analysis.ambiguous_words import are_different_words
from mdnmt.config.base import Frozen
from mdnmt.tasks.segmentation.segmenter import Segmentation, Segmenter
from mdnmt.tasks.text.normalisation import Normaliser

NUM_EXAMPLES = 3  # number of words that get examples
EXAMPLE_LENGTH = 12  # preferred number of source words: enough for context, few enough to read


class Hypotheses(Frozen):
    """A system's translations of the test sets: `<folder>/hyp.<domain>.txt`."""

    method: str
    label: str
    seed: int | None = None
    folder: Path


class ChoiceSpec(Frozen):
    """The systems whose word choices are analysed."""

    systems: tuple[Hypotheses, ...] = ()
    words: tuple[str, ...] = ()  # further source words to give examples of, ambiguous or not


def lowercased_words(lines: Sequence[str], task_folder: Path, lang: str, domain: str) -> list[frozenset[str]]:
    """Return the words of each line, normalised and tokenised as the task's training text, then casefolded.

    Raises:
        ConfigError: the tokenizer's package is not installed.
    """
    how = Segmentation.load(task_folder)
    segmenter = Segmenter(None, lang, how.tokenizer(lang), how.forms.get(domain, Normaliser()))
    return [frozenset(word.casefold() for word in segmenter.encode(line)) for line in lines]


def cases(
    words: Sequence[Mapping[str, Any]],
    domain: str,
    sources: Sequence[frozenset[str]],
    references: Sequence[frozenset[str]],
) -> list[tuple[int, int]]:
    """Return (sentence, word) where a source has an ambiguous word and its reference this domain's translation."""
    return [
        (sentence, number)
        for sentence, (source, reference) in enumerate(zip(sources, references, strict=True))
        for number, word in enumerate(words)
        if word["word"] in source and word["translations"].get(domain) in reference
    ]


def judge(
    words: Sequence[Mapping[str, Any]],
    domain: str,
    found: Sequence[tuple[int, int]],
    hypotheses: Sequence[frozenset[str]],
) -> dict[str, int]:
    """Count the cases of a domain, and those whose hypothesis has this domain's translation or another domain's.

    Returns:
        {"words", "right", "confused"}; a confused case lacks the right translation and has that of another domain.
    """
    counts = {"words": len(found), "right": 0, "confused": 0}
    for sentence, number in found:
        right, said = words[number]["translations"][domain], hypotheses[sentence]
        others = [other for other in words[number]["translations"].values() if are_different_words(right, other)]
        counts["right"] += right in said
        counts["confused"] += right not in said and any(other in said for other in others)
    return counts


def examples(
    words: Sequence[Mapping[str, Any]],
    found: Mapping[str, Sequence[tuple[int, int]]],
    texts: Mapping[str, Sequence[tuple[str, str]]],
    hypotheses: Mapping[str, Mapping[str, Sequence[str]]],
) -> list[dict[str, Any]]:
    """Return example sentences for the first words that occur with different translations in the test sets.

    The rule is fixed, so that nobody picks examples by hand: the first `NUM_EXAMPLES` such words, and from each domain
    the sentence whose source length is nearest to `EXAMPLE_LENGTH` words; of equals the first.

    Args:
        words: ambiguous words, the largest contrast first.
        found: domain -> its cases, see `cases`.
        texts: domain -> (source, reference) of each sentence.
        hypotheses: method -> domain -> translations.

    Returns:
        [{"word", "domain", "right", "source", "reference", "translations": {method: text}}], word by word; `right` is
        the domain's translation of the word.
    """
    chosen: list[list[dict[str, Any]]] = []
    for number, word in enumerate(words):
        rows = []
        for domain, pairs in found.items():
            sentences = [sentence for sentence, other in pairs if other == number]
            if not sentences:
                continue
            right = word["translations"][domain]
            example = _example(word["word"], domain, sentences, texts, hypotheses)
            rows.append({**example, "right": right})
        if any(are_different_words(one["right"], other["right"]) for one in rows for other in rows):
            chosen.append(rows)
    return [row for rows in chosen[:NUM_EXAMPLES] for row in rows]


def examples_of(
    words: Sequence[str],
    sources: Mapping[str, Sequence[frozenset[str]]],
    texts: Mapping[str, Sequence[tuple[str, str]]],
    hypotheses: Mapping[str, Mapping[str, Sequence[str]]],
) -> list[dict[str, Any]]:
    """Return, for each word, one sentence of each domain whose test text has it, chosen by the rule of `examples`.

    Args:
        words: words of the source language; case is ignored.
        sources: domain -> words of its source sentences.
        texts: domain -> (source, reference) of each sentence.
        hypotheses: method -> domain -> translations.

    Returns:
        The same as `examples`, without `right`.
    """
    found = []
    for word in words:
        for domain, source in sources.items():
            having = [place for place, sentence in enumerate(source) if word.casefold() in sentence]
            if having:
                found.append(_example(word, domain, having, texts, hypotheses))
    return found


def _example(
    word: str,
    domain: str,
    sentences: Sequence[int],
    texts: Mapping[str, Sequence[tuple[str, str]]],
    hypotheses: Mapping[str, Mapping[str, Sequence[str]]],
) -> dict[str, Any]:
    best = min(sentences, key=lambda s: abs(len(texts[domain][s][0].split()) - EXAMPLE_LENGTH))
    source, reference = texts[domain][best]
    said = {method: by_domain[domain][best] for method, by_domain in hypotheses.items()}
    return {"word": word, "domain": domain, "source": source, "reference": reference, "translations": said}
