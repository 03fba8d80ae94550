"""A corpus score and the signature that says how it was computed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mdnmt.score.metrics.sentence_counts import Counts


@dataclass(frozen=True)
class Score:
    """A metric's value over a test set.

    Attributes:
        score: unrounded, in the metric's own unit; BLEU, chrF and accuracy go from 0 to 100.
        signature: the metric's settings and version, in the format of sacreBLEU's signatures.
    """

    score: float
    signature: str


def corpus_score(metric: Any, counts: Counts) -> Score:
    """Return the score of what a metric of sacreBLEU counted in each sentence."""
    # As sacreBLEU's corpus_score does; a private method, but the only way to score from counts.
    result = metric._aggregate_and_compute(counts.tolist())
    return Score(float(result.score), str(metric.get_signature()))
