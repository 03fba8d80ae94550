"""From translations, and what stands beside them, to what each metric must know of a sentence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from mdnmt.config.metrics import Metric
from mdnmt.decode.likelihood import read_likelihoods
from mdnmt.errors import DataError
from mdnmt.fsio import read_json
from mdnmt.score import bleu, chrf, ter, tokenised_bleu
from mdnmt.score.sentence_counts import SentenceCounts, bleu_scores, chrf_scores, exponential, percent
from mdnmt.score.testset import TestSets

Counter = Callable[[Path, Path | None], SentenceCounts | None]


def text_counter(
    metric: Metric, references: Sequence[str], target_lang: str, tokenizer: str = "moses"
) -> Callable[[Sequence[str]], SentenceCounts]:
    """Return what counts the sentences of hypotheses by sacreBLEU's own class; references are counted once."""
    cut = partial(tokenised_bleu.words, lang=target_lang, tokenizer=tokenizer) if metric == "bleu_tok" else list
    sacrebleu, scores = _by_sacrebleu(metric, cut(references), target_lang)

    def count(hypotheses: Sequence[str]) -> SentenceCounts:
        # Its only way to counts of sentences; the pinned version has it, and tests hold the results against its own.
        counts = sacrebleu._extract_corpus_statistics(cut(hypotheses), None)
        return SentenceCounts(np.array(counts, dtype=np.int64), scores)

    return count


def _by_sacrebleu(metric: Metric, references: Sequence[str], lang: str) -> tuple[Any, Callable[[Any], Any]]:
    if metric == "bleu":
        return bleu.metric(lang, references), bleu_scores
    if metric == "bleu_tok":
        return tokenised_bleu.metric(references), partial(bleu_scores, smooth=False)
    if metric == "chrf":
        return chrf.metric(lang, references), chrf_scores
    found = ter.metric(lang)
    found._ref_cache = found._cache_references([list(references)])
    return found, percent


def counter(metric: Metric, test_sets: TestSets, domain: str) -> Counter:
    """Return what counts the sentences of a system: (folder of hypotheses, file of COMET's sentences) -> counts.

    It returns None where a system lacks what the metric is made of: no likelihood.json, no COMET.

    Raises (when it counts):
        DataError: a file is missing or is not of this test set.
    """
    if metric == "comet":
        return lambda folder, comet: comet_counts(_comet(comet, domain)) if comet is not None else None
    if metric in ("accuracy", "perplexity"):
        return lambda folder, comet: _predicted(metric, folder, domain)
    count = text_counter(metric, test_sets.references(domain), test_sets.target_lang, test_sets.target_tokenizer)
    return lambda folder, comet: count(test_sets.hypotheses(folder, domain))


def comet_counts(scores: Sequence[float]) -> SentenceCounts:
    """Return what COMET, a mean of sentences' scores x 100, is made of."""
    return SentenceCounts(np.column_stack([scores, np.ones(len(scores))]).astype(np.float64), percent)


def accuracy_counts(correct: Sequence[int], pieces: Sequence[int]) -> SentenceCounts:
    """Return what token accuracy, a share of all pieces in percent, is made of."""
    return SentenceCounts(np.column_stack([correct, pieces]).astype(np.int64), percent)


def perplexity_counts(nll: Sequence[float], pieces: Sequence[int]) -> SentenceCounts:
    """Return what perplexity is made of: sums of -ln p, and pieces."""
    return SentenceCounts(np.column_stack([nll, pieces]).astype(np.float64), exponential)


def _predicted(metric: Metric, folder: Path, domain: str) -> SentenceCounts | None:
    found = read_likelihoods(folder)
    if found is None or domain not in found.domains:
        return None
    one = found.domains[domain]
    return accuracy_counts(one.correct, one.pieces) if metric == "accuracy" else perplexity_counts(one.nll, one.pieces)


def _comet(path: Path, domain: str) -> list[float]:
    try:
        scores = read_json(path)["domains"][domain]
        return [float(score) for score in scores]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(
            f"{path}: expected COMET's score of each sentence of {domain} ({type(error).__name__}: {error}); run "
            "mdnmt comet again"
        ) from None
