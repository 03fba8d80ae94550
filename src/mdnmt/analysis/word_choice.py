"""Which translation of an ambiguous word systems choose in test sentences (Jiang et al. 2020, sec. 5 and Table 7)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mdnmt.analysis.ambiguous_words import are_different_words
from mdnmt.config.base import Frozen
from mdnmt.tasks.segmentation.segmenter import Segmentation, Segmenter
from mdnmt.tasks.text.normalisation import Normaliser

NUM_EXAMPLES = 3  # words
EXAMPLE_LENGTH = 12  # words of the source: long enough to say something, short enough to read


class Hypotheses(Frozen):
    """A system's translations of the test sets: `<folder>/hyp.<domain>.txt`."""

    method: str
    label: str
    seed: int | None = None
    folder: Path


class ChoiceSpec(Frozen):
    """Whose choices are looked at."""

    systems: tuple[Hypotheses, ...] = ()
    words: tuple[str, ...] = ()  # of the source language: examples of these too, ambiguous here or not


@dataclass(frozen=True)
class LowercasedText:
    """The words of each sentence of a text, without case."""

    sentences: list[frozenset[str]]

    @classmethod
    def of(cls, lines: Sequence[str], task_folder: Path, lang: str, domain: str) -> LowercasedText:
        """Take lines apart as the task's training text was.

        Raises:
            ConfigError: a package that tokenises is not installed.
        """
        how = Segmentation.load(task_folder)
        segmenter = Segmenter(None, lang, how.tokenizer(lang), how.forms.get(domain, Normaliser()))
        return cls([frozenset(word.casefold() for word in segmenter.encode(line)) for line in lines])


def cases(
    words: Sequence[Mapping[str, Any]], domain: str, sources: LowercasedText, references: LowercasedText
) -> list[tuple[int, int]]:
    """Return (sentence, word) wherever a source has an ambiguous word and its reference the domain's translation."""
    return [
        (sentence, number)
        for sentence, (source, reference) in enumerate(zip(sources.sentences, references.sentences, strict=True))
        for number, word in enumerate(words)
        if word["word"] in source and word["translations"].get(domain) in reference
    ]


def judge(
    words: Sequence[Mapping[str, Any]], domain: str, found: Sequence[tuple[int, int]], hypotheses: LowercasedText
) -> dict[str, int]:
    """Count the cases of a domain, those with the domain's translation in the hypothesis, and those with another's.

    Returns:
        {"words", "right", "confused"}: confused ones lack the right translation and have that of another domain.
    """
    counts = {"words": len(found), "right": 0, "confused": 0}
    for sentence, number in found:
        right, said = words[number]["translations"][domain], hypotheses.sentences[sentence]
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
    """Return sentences of the most telling words that the test sets of two domains have with different translations.

    A fixed rule, so that examples are not picked by hand: the first words in their own order, and of each domain the
    sentence whose source is nearest to 12 words, the first of equals.

    Args:
        words: ambiguous words.
        found: domain -> cases.
        texts: domain -> (source, reference) of each sentence.
        hypotheses: method -> domain -> translations.

    Returns:
        [{"word", "domain", "right", "source", "reference", "translations": {method: text}}], word by word; `right` is
        how the domain translates the word.
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
    sources: Mapping[str, LowercasedText],
    texts: Mapping[str, Sequence[tuple[str, str]]],
    hypotheses: Mapping[str, Mapping[str, Sequence[str]]],
) -> list[dict[str, Any]]:
    """Return one sentence of each domain that has a given word, chosen by the rule of `examples`.

    Args:
        words: of the source language, compared without case.
        sources: domain -> words of its source sentences.
        texts: domain -> (source, reference) of each sentence.
        hypotheses: method -> domain -> translations.

    Returns:
        as `examples`, without `right`; domains whose test text lacks the word have no row.
    """
    found = []
    for word in words:
        for domain, source in sources.items():
            having = [place for place, sentence in enumerate(source.sentences) if word.casefold() in sentence]
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
