"""A corpus score and the signature that says how it was computed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from mdnmt.errors import DataError
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


def corpus_score(
    metric_for: Callable[[tuple[str, ...]], Any],
    hypotheses: Sequence[str],
    references: Sequence[str],
    counts: Callable[[], Counts] | None = None,
) -> Score:
    """Score `hypotheses` with the sacreBLEU metric that `metric_for` makes for the references.

    Args:
        metric_for: makes the metric.
        hypotheses: one sentence each.
        references: one sentence each.
        counts: returns what the metric counts in each of the hypotheses; None: they are counted here.

    Raises:
        DataError: hypotheses and references differ in number, or there are none.
    """
    if len(hypotheses) != len(references) or not references:
        raise DataError(
            f"found {len(hypotheses)} hypotheses and {len(references)} references: expected as many, one at least"
        )
    metric = metric_for(tuple(references))
    if counts is None:
        result = metric.corpus_score(list(hypotheses), None)
    else:
        # As sacreBLEU's corpus_score does; a private method, but the only way to score from counts.
        result = metric._aggregate_and_compute(counts().tolist())
    return Score(float(result.score), str(metric.get_signature()))
