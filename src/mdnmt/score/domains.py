"""Every metric of every domain of a system, and their means: the content of `scores.json`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from mdnmt.errors import DataError
from mdnmt.score import bleu, chrf
from mdnmt.score.testset import TestSets

METRICS = {"bleu": bleu, "chrf": chrf}


def score_domains(test_sets: TestSets, hypotheses_dir: Path, domains: Sequence[str] | None = None) -> dict[str, Any]:
    """Score the hypotheses in `hypotheses_dir` for `domains` (default: all of the task).

    Returns:
        {"domains": {domain: {"bleu": {"score", "signature"}, "chrf": {...}, "num_sentences"}},
        "mean": {"bleu", "chrf"}}; the means are of the unrounded scores, each domain counting the same. Beside
        "num_sentences" stands "splits": {split: identity of the domain's text}, where the task says it.

    Raises:
        DataError: a file is missing, counts of lines differ, or the task has no such domain.
    """
    chosen = list(test_sets.domains if domains is None else domains)
    if unknown := [domain for domain in chosen if domain not in test_sets.domains]:
        raise DataError(f"{test_sets.task_dir}: no domain {unknown[0]!r}; the task has {', '.join(test_sets.domains)}")
    if not chosen:
        raise DataError(f"{test_sets.task_dir}: no domain to score; expected at least one")
    scored: dict[str, Any] = {}
    for domain in chosen:
        hypotheses = test_sets.hypotheses(hypotheses_dir, domain)
        references = test_sets.references(domain)
        scored[domain] = {
            name: asdict(metric.score(hypotheses, references, test_sets.target_lang))
            for name, metric in METRICS.items()
        }
        scored[domain]["num_sentences"] = len(references)
        if test_sets.splits:
            scored[domain]["splits"] = {name: hashes[domain] for name, hashes in test_sets.splits.items()}
    mean = {name: sum(scored[domain][name]["score"] for domain in chosen) / len(chosen) for name in METRICS}
    return {"domains": scored, "mean": mean}
