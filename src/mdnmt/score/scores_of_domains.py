"""Score each domain of a system in all metrics and take means over domains: the content of `scores.json`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from mdnmt.config.metrics import METRICS as ALL
from mdnmt.decode.likelihood import Likelihoods, read_likelihoods
from mdnmt.errors import DataError
from mdnmt.score.ceiling import ceiling
from mdnmt.score.metrics import likelihood_metrics, string_based, tokenised_bleu
from mdnmt.score.metrics.score import Score
from mdnmt.score.test_sets import TestSets

_PREDICTED = {"perplexity": likelihood_metrics.perplexity, "accuracy": likelihood_metrics.accuracy}
DEFAULT_METRICS = tuple(name for name, about in ALL.items() if about.file == "scores.json")


def score_domains(
    test_sets: TestSets,
    hypotheses_dir: Path,
    domains: Sequence[str] | None = None,
    metrics: Sequence[str] = DEFAULT_METRICS,
) -> dict[str, Any]:
    """Score the hypotheses in `hypotheses_dir` for `domains` (default: all of the task).

    Perplexity and accuracy are included only if there is a likelihood.json beside the hypotheses.

    Returns:
        {"domains": {domain: {metric: {"score", "signature"}, ..., "num_sentences"}}, "mean": {metric}}; a mean is that
        of the unrounded scores, with equal weights for all domains. A domain of test text also has
        "ceiling": {metric: score of the references after the task's tokenizer and back}. If the task records them, a
        domain has "splits": {split: identity of the domain's text}. Validation text also gives "concatenated": the
        metrics of plain text over the concatenated sentences of all domains.

    Raises:
        DataError: a file is missing, numbers of lines differ, or the task has no such domain.
        ConfigError: the package of the task's tokenizer is not installed.
    """
    chosen = list(test_sets.domains if domains is None else domains)
    if unknown := [domain for domain in chosen if domain not in test_sets.domains]:
        raise DataError(f"{test_sets.task_dir}: no domain {unknown[0]!r}; the task has {', '.join(test_sets.domains)}")
    if not chosen:
        raise DataError(f"{test_sets.task_dir}: no domain to score; expected at least one")
    likelihoods = read_likelihoods(hypotheses_dir) if set(metrics) & _PREDICTED.keys() else None
    scored: dict[str, Any] = {}
    for domain in chosen:
        hypotheses = test_sets.hypotheses(hypotheses_dir, domain)
        references = test_sets.references(domain)
        found = _of_text(test_sets, hypotheses, references, metrics)
        if likelihoods is not None:
            found |= _of_model(likelihoods, hypotheses_dir, domain, len(references), metrics)
        scored[domain] = {name: asdict(score) for name, score in found.items()}
        scored[domain]["num_sentences"] = len(references)
        if test_sets.split == "test":
            scored[domain]["ceiling"] = dict(
                ceiling(tuple(references), test_sets.target_lang, test_sets.target_tokenizer, tuple(metrics))
            )
        if test_sets.splits:
            scored[domain]["splits"] = {name: hashes[domain] for name, hashes in test_sets.splits.items()}
    concatenated = _concatenated(test_sets, hypotheses_dir, chosen, metrics) if test_sets.split == "valid" else {}
    everywhere = [name for name in metrics if all(name in values for values in scored.values())]
    mean = {name: sum(scored[domain][name]["score"] for domain in chosen) / len(chosen) for name in everywhere}
    return {"domains": scored, "mean": mean, **({"concatenated": concatenated} if concatenated else {})}


def _concatenated(
    test_sets: TestSets, hypotheses_dir: Path, domains: Sequence[str], metrics: Sequence[str]
) -> dict[str, Any]:
    hypotheses = [line for domain in domains for line in test_sets.hypotheses(hypotheses_dir, domain)]
    references = [line for domain in domains for line in test_sets.references(domain)]
    return {name: asdict(score) for name, score in _of_text(test_sets, hypotheses, references, metrics).items()}


def _of_text(
    test_sets: TestSets, hypotheses: Sequence[str], references: Sequence[str], metrics: Sequence[str]
) -> dict[str, Score]:
    lang, tokenizer = test_sets.target_lang, test_sets.target_tokenizer
    found: dict[str, Score] = {
        name: string_based.score(name, hypotheses, references, lang)
        for name in metrics
        if name in string_based.STRING_BASED
    }
    if "bleu_tok" in metrics and tokenised_bleu.counts_words(lang, tokenizer):
        found["bleu_tok"] = tokenised_bleu.score(hypotheses, references, lang, tokenizer)
    return found


def _of_model(
    likelihoods: Likelihoods, folder: Path, domain: str, num_sentences: int, metrics: Sequence[str]
) -> Mapping[str, Score]:
    one = likelihoods.domains.get(domain)
    if one is None or len(one.pieces) != num_sentences:
        count = "nothing" if one is None else f"{len(one.pieces)} sentences"
        raise DataError(
            f"{folder}: likelihood.json has {count} of {domain}, expected {num_sentences}; decode the test set again"
        )
    return {name: score(one, likelihoods.vocabulary) for name, score in _PREDICTED.items() if name in metrics}
