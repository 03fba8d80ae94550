"""Corpus BLEU over the task's tokenised words, case-sensitive and unsmoothed, as multi-bleu.perl and fairseq print it.

Both count n-grams of the tokenised text after BPE is removed (Papineni et al. 2002). sacreBLEU computes the same if its
own tokenisation and smoothing are off.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from mdnmt.fsio import write_lines
from mdnmt.languages import language
from mdnmt.score.metrics.score import Score, corpus_score
from mdnmt.score.metrics.sentence_counts import Counts, counted
from mdnmt.score.test_sets import TestSets, hypothesis_path
from mdnmt.tasks.segmentation.segmenter import Segmenter
from mdnmt.tasks.text.reversible import without_marks
from mdnmt.tasks.text.tokenise import splits_spaceless

# Tokenizer -> the package that implements it; its version is part of the signature.
_PACKAGE = {"moses": "sacremoses", "jieba": "jieba"}


@lru_cache(maxsize=4)  # a few domains, for one system after the other
def metric(references: tuple[str, ...]) -> Any:
    """Return sacreBLEU's metric for references that `words` made; their n-grams are counted once."""
    from sacrebleu.metrics.bleu import BLEU

    return BLEU(tokenize="none", smooth_method="none", force=True, references=[list(references)])


def counts_words(lang: str, tokenizer: str) -> bool:
    """Return whether the tokenizer splits text of this language, so that not whole sentences are counted as words."""
    about = language(lang)
    return not about.is_spaceless or splits_spaceless(tokenizer, about.scripts)


def words(lines: Sequence[str], lang: str, tokenizer: str) -> list[str]:
    """Return each line of plain text as the words of a task's tokenizer, separated by spaces.

    Raises:
        ConfigError: the tokenizer's package is not installed.
    """
    segmenter = Segmenter(None, lang, tokenizer)
    found = (segmenter.encode(line) for line in lines)
    return [" ".join(without_marks(line) if tokenizer == "reversible" else line) for line in found]


@lru_cache(maxsize=4)  # references of a few domains, which many systems are scored against
def reference_words(references: tuple[str, ...], lang: str, tokenizer: str) -> tuple[str, ...]:
    """Return `words` of references; they are made once."""
    return tuple(words(references, lang, tokenizer))


def sentence_counts(hypotheses: Sequence[str], references: Sequence[str], lang: str, tokenizer: str) -> Counts:
    """Return what sacreBLEU counts in each hypothesis, [N, C]; both sides are plain text."""

    def count() -> Any:
        # A private method, but the only access to sentence statistics; tests compare the results with sacreBLEU's own.
        counter = metric(reference_words(tuple(references), lang, tokenizer))
        return counter._extract_corpus_statistics(words(hypotheses, lang, tokenizer), None)

    return counted(("bleu_tok", lang, tokenizer), hypotheses, references, count)


def score(hypotheses: Sequence[str], references: Sequence[str], lang: str, tokenizer: str) -> Score:
    """Return the score of plain text; the signature is sacreBLEU's, extended by the tokenizer.

    Args:
        hypotheses: one sentence each.
        references: one sentence each.
        lang: language code.
        tokenizer: the task's tokenizer.
    """
    counts = sentence_counts(hypotheses, references, lang, tokenizer)
    found = corpus_score(metric(reference_words(tuple(references), lang, tokenizer)), counts)
    package = _PACKAGE.get(tokenizer)
    cut_by = f"{package}-{version(package)}-{lang}" if package else f"{tokenizer}-{lang}"
    return Score(found.score, f"{found.signature}|words:{cut_by}")


def write_words(test_sets: TestSets, hypotheses_dir: Path, out: Path, domains: Sequence[str]) -> None:
    """Write the tokenised hyp.<domain>.txt and ref.<domain>.txt, for other programs to score."""
    for domain in domains:
        sides = {
            hypothesis_path(out, domain): test_sets.hypotheses(hypotheses_dir, domain),
            out / f"ref.{domain}.txt": test_sets.references(domain),
        }
        for path, lines in sides.items():
            write_lines(path, words(lines, test_sets.target_lang, test_sets.target_tokenizer))
