"""Read `scores.json` and the files of its form (`ter.json`, `comet-*.json`), for tables and `numbers.csv` alike."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mdnmt.config.metrics import METRICS
from mdnmt.errors import DataError
from mdnmt.fsio import read_json


@dataclass(frozen=True)
class Score:
    """A metric's value over one text, and the signature that says how it was computed; it may be NaN."""

    value: float
    signature: str


@dataclass(frozen=True)
class DomainScores:
    """The scores of one domain.

    Attributes:
        num_sentences: the length of the text.
        scores: metric -> score.
        ceiling: metric -> what a perfect system would score; empty if it is not known.
        splits: split -> identity of the domain's text; empty if the task does not record it.
    """

    num_sentences: int
    scores: Mapping[str, Score]
    ceiling: Mapping[str, float] = field(default_factory=dict)
    splits: Mapping[str, str] = field(default_factory=dict)

    def finite(self, metric: str, where: str) -> float | None:
        """Return one score; None if there is none.

        Raises:
            DataError: it is NaN or infinite; `where` names the file and the domain.
        """
        score = self.scores.get(metric)
        if score is not None and not math.isfinite(score.value):
            raise DataError(f"{where}: {metric} is {score.value!r}, expected a finite number; score the run again")
        return None if score is None else score.value


@dataclass(frozen=True)
class ScoreFile:
    """The scores of a system's translations.

    Attributes:
        domains: domain -> scores.
        mean: metric -> mean over domains.
        concatenated: the scores of all its sentences as one text; None if they are not known.
    """

    domains: Mapping[str, DomainScores]
    mean: Mapping[str, float]
    concatenated: DomainScores | None = None


def read_scores(path: Path) -> ScoreFile:
    """Return what a file of scores holds.

    Raises:
        DataError: there is no such file, it is damaged, or it has no scores.
    """
    try:
        found = read_json(path)
        domains = {name: _domain(entry, entry["num_sentences"]) for name, entry in found["domains"].items()}
        together = found.get("concatenated")
        count = sum(domain.num_sentences for domain in domains.values())
        return ScoreFile(domains, found.get("mean", {}), None if together is None else _domain(together, count))
    except FileNotFoundError:
        raise DataError(f"{path}: no such file; start snakemake again, which makes it") from None
    except (KeyError, TypeError, AttributeError) as error:
        raise DataError(
            f"{path}: expected scores by domain ({type(error).__name__}: {error}); score the run again"
        ) from error


def _domain(entry: Mapping[str, Any], num_sentences: int) -> DomainScores:
    return DomainScores(
        num_sentences=num_sentences,
        scores=dict(_scores(entry)),
        ceiling=entry.get("ceiling", {}),
        splits=entry.get("splits") or {},
    )


def _scores(entry: Mapping[str, Any]) -> Iterator[tuple[str, Score]]:
    for metric in METRICS:
        if entry.get(metric) is not None:
            yield metric, Score(float(entry[metric]["score"]), str(entry[metric].get("signature", "")))
