"""A corpus score and the signature that says how it was computed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from mdnmt.errors import DataError


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
    metric_for: Callable[[tuple[str, ...]], Any], hypotheses: Sequence[str], references: Sequence[str]
) -> Score:
    """Score `hypotheses` with the sacreBLEU metric that `metric_for` makes for the references.

    Raises:
        DataError: hypotheses and references differ in number, or there are none.
    """
    if len(hypotheses) != len(references) or not references:
        raise DataError(
            f"found {len(hypotheses)} hypotheses and {len(references)} references: expected as many, one at least"
        )
    metric = metric_for(tuple(references))
    result = metric.corpus_score(list(hypotheses), None)
    return Score(float(result.score), str(metric.get_signature()))
