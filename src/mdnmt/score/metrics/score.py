"""A corpus score with its signature, which says how it was computed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mdnmt.errors import DataError


@dataclass(frozen=True)
class Score:
    """A metric's value over a test set.

    Attributes:
        score: 0 to 100, unrounded.
        signature: sacreBLEU's signature: references, case, tokenisation, version.
    """

    score: float
    signature: str


def corpus_score(metric: Any, hypotheses: Sequence[str], references: Sequence[str]) -> Score:
    """Score `hypotheses` by a sacreBLEU metric.

    Raises:
        DataError: the two differ in length, or are empty.
    """
    if len(hypotheses) != len(references) or not references:
        raise DataError(
            f"found {len(hypotheses)} hypotheses and {len(references)} references: expected as many, one at least"
        )
    result = metric.corpus_score(list(hypotheses), [list(references)])
    return Score(float(result.score), str(metric.get_signature()))
