"""Collect the sufficient statistics of each sentence for each metric; compute scores from many sums of them at once.

For BLEU these are n-gram matches and lengths, for chrF character n-grams, for COMET the score itself, for perplexity
and accuracy the counts of forced decoding. Resampling needs nothing else. The formulas follow sacreBLEU step by step,
for many sums at once, so that the results are equal to the last bit.

Shapes: N sentences, C statistics of a sentence, R sums (of the test set or of resamples), O n-gram orders.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mdnmt.config.metrics import Metric
from mdnmt.decode.likelihood import read_likelihoods
from mdnmt.errors import DataError
from mdnmt.fsio import read_json
from mdnmt.score.metrics import string_based, tokenised_bleu
from mdnmt.score.test_sets import TestSets

Array = npt.NDArray[Any]
BLEU_ORDER = 4


@dataclass(frozen=True)
class SentenceCounts:
    """The statistics of a system's translations of one test set in one metric.

    Attributes:
        counts_NC: one row per sentence; integers, or float64 for COMET and perplexity.
        score: sums [R, C] -> corpus scores [R].
    """

    counts_NC: Array
    score: Callable[[Array], Array]

    @property
    def total(self) -> float:
        """Return the score of the test set itself."""
        return float(self.score(self.counts_NC.sum(axis=0, keepdims=True))[0])


def percent(sums_RC: Array) -> Array:
    """Return 100 x first sum / second sum, [R]; 0 if the second is 0."""
    part_R, whole_R = sums_RC.astype(np.float64).T
    return np.asarray(100 * np.divide(part_R, whole_R, out=np.zeros_like(part_R), where=whole_R > 0))


def exponential(sums_RC: Array) -> Array:
    """Return exp(first sum / second sum), [R]: perplexity from the sums of -ln p and of tokens."""
    lost_R, pieces_R = sums_RC.astype(np.float64).T
    return np.asarray(np.exp(np.divide(lost_R, pieces_R, out=np.zeros_like(lost_R), where=pieces_R > 0)))


def bleu_scores(sums_RC: Array, *, smooth: bool = True) -> Array:
    """Return BLEU, [R]; with sacreBLEU's smoothing, the k-th order without a match counts as 1 / 2^k matches."""
    sums_CR = np.ascontiguousarray(sums_RC.T, dtype=np.float64)
    hyp_R, ref_R = sums_CR[:2]
    correct_OR, total_OR = sums_CR[2 : 2 + BLEU_ORDER], sums_CR[2 + BLEU_ORDER :]
    zero_OR = correct_OR == 0
    unmatched_R = zero_OR.all(axis=0) if smooth else zero_OR.any(axis=0)
    if zero_OR.any():
        smoothed_OR = np.where(zero_OR, 0.5, 1.0)
        for order in range(1, BLEU_ORDER):
            smoothed_OR[order] *= smoothed_OR[order - 1]
        correct_OR = np.where(zero_OR, smoothed_OR, correct_OR)
    logarithms_R = np.log(100.0 * correct_OR / np.maximum(total_OR, 1)).sum(axis=0)
    penalty_R = np.where(hyp_R < ref_R, np.exp(1 - ref_R / np.maximum(hyp_R, 1)), 1.0)
    none_R = unmatched_R | (total_OR == 0).any(axis=0)
    return np.where(none_R, 0.0, penalty_R * np.exp(logarithms_R / BLEU_ORDER))


def chrf_scores(sums_RC: Array, beta: int = 2) -> Array:
    """Return chrF, [R]: the F-score of precision and recall, each averaged over the orders that occur in both texts.

    Ratios are computed in the dtype of the sums, as in sacreBLEU.
    """
    sums_CR = np.ascontiguousarray(sums_RC.T)
    hyp_OR, ref_OR, match_OR = (sums_CR[start::3] for start in range(3))
    both_OR = (hyp_OR > 0) & (ref_OR > 0)
    precision_R, recall_R = (
        np.where(both_OR, match_OR / np.maximum(whole_OR, 1), 0).sum(axis=0, dtype=np.float64)
        / np.maximum(both_OR.sum(axis=0), 1)
        for whole_OR in (hyp_OR, ref_OR)
    )
    factor, weighted_R = beta**2, beta**2 * precision_R + recall_R
    score_R = (1 + factor) * precision_R * recall_R
    return np.asarray(100 * np.divide(score_R, weighted_R, out=np.zeros_like(score_R), where=weighted_R > 0))


Counter = Callable[[Path, Path | None], SentenceCounts | None]


def text_counter(
    metric: Metric, references: Sequence[str], target_lang: str, tokenizer: str = "moses"
) -> Callable[[Sequence[str]], SentenceCounts]:
    """Return a function that counts hypotheses with sacreBLEU's own class."""
    scores: Callable[[Array], Array]
    if metric == "bleu_tok":
        counts = partial(tokenised_bleu.sentence_counts, references=references, lang=target_lang, tokenizer=tokenizer)
        scores = partial(bleu_scores, smooth=False)
    else:
        counts = partial(string_based.sentence_counts, metric, references=references, target_lang=target_lang)
        scores = _SCORES.get(metric) or partial(_scores_one_by_one, metric, target_lang, tuple(references))
    return lambda hypotheses: SentenceCounts(counts(hypotheses), scores)


# Vectorised over many sums; sacreBLEU itself computes one score at a time.
_SCORES: dict[str, Callable[[Array], Array]] = {"bleu": bleu_scores, "chrf": chrf_scores, "ter": percent}


def _scores_one_by_one(metric: str, lang: str, references: tuple[str, ...], sums_RC: Array) -> Array:
    sacrebleu = string_based.cached_metric(metric, lang, references)
    return np.array([sacrebleu._compute_score_from_stats(list(sums_C)).score for sums_C in sums_RC])


def counter(metric: Metric, test_sets: TestSets, domain: str) -> Counter:
    """Return a function (folder of hypotheses, file of COMET's sentence scores) -> statistics of a system.

    That function returns None if the system lacks the metric's input: likelihood.json, or COMET's sentence scores.

    Raises:
        DataError: the references, or later the hypotheses, are missing or do not fit this test set.
    """
    if metric == "comet":
        return lambda folder, comet: comet_counts(_comet(comet, domain)) if comet is not None else None
    if metric in ("accuracy", "perplexity"):
        return lambda folder, comet: _predicted(metric, folder, domain)
    count = text_counter(metric, test_sets.references(domain), test_sets.target_lang, test_sets.target_tokenizer)
    return lambda folder, comet: count(test_sets.hypotheses(folder, domain))


def comet_counts(scores: Sequence[float]) -> SentenceCounts:
    """Return the statistics of COMET, whose corpus score is the mean of the sentence scores x 100."""
    return SentenceCounts(np.column_stack([scores, np.ones(len(scores))]).astype(np.float64), percent)


def accuracy_counts(correct: Sequence[int], pieces: Sequence[int]) -> SentenceCounts:
    """Return the statistics of token accuracy: correct tokens and all tokens of each sentence."""
    return SentenceCounts(np.column_stack([correct, pieces]).astype(np.int64), percent)


def perplexity_counts(nll: Sequence[float], pieces: Sequence[int]) -> SentenceCounts:
    """Return the statistics of perplexity: the sum of -ln p and the number of tokens of each sentence."""
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
