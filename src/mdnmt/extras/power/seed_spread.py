"""Estimate how much scores vary between seeds: first from other studies, then also from the study's own seeds.

A score varies with the seed, with the test sentences, and with the interaction of both. On one test set of N sentences
the variance between seeds is `seed + interaction / N`. The variance of the difference of two systems over test sets is
`sentences / N`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from pydantic import Field

from mdnmt.config.base import Frozen
from mdnmt.config.loader import load_model
from mdnmt.exhibits.seed_scores import AVERAGE, SharedConditions, measure
from mdnmt.exhibits.table_request import table_spec
from mdnmt.exhibits.tables.scores import ScoreTable
from mdnmt.studies.result_paths import ResultPaths
from mdnmt.studies.study import Study
from mdnmt.workspace import config_file

FILE = "seed-spread.yaml"
PRIOR_WEIGHT = 4.0  # maximum degrees of freedom of the prior


class Components(Frozen):
    """Variance components of a metric; `interaction` and `sentences` are for one test sentence per domain."""

    seed: float = Field(ge=0)
    interaction: float = Field(ge=0)
    sentences: float = Field(ge=0, description="of the difference of two systems")
    freedom: float = Field(gt=0, description="of the variance between seeds")


class SeedSpread(Frozen):
    """config/seed-spread.yaml: written by benchmarks/seed_spread.py."""

    made: str
    sources: tuple[str, ...]
    domain: dict[str, Components] = Field(description="metric -> components of a domain's score")
    average: dict[str, Components] = Field(description="metric -> components of the mean over domains")


@dataclass(frozen=True)
class Spread:
    """The standard deviations to plan with.

    Attributes:
        prior: variance components from other studies.
        own: (task, metric, whether it is an average) -> variance between the study's own seeds, degrees of freedom.
    """

    prior: SeedSpread
    own: dict[tuple[str, str, bool], tuple[float, float]] = field(default_factory=dict)

    def _prior(self, metric: str, is_average: bool) -> Components | None:
        return (self.prior.average if is_average else self.prior.domain).get(metric)

    def seed_sd(self, task: str, metric: str, is_average: bool, sentences: int) -> float | None:
        """Return the standard deviation between seeds on a test set; None: not known for this metric.

        The prior's variance and the study's own are averaged, weighted by degrees of freedom: the posterior of a
        scaled inverse chi-square prior (Gelman et al., Bayesian Data Analysis, 3rd edition, sec. 2.6).
        """
        variance = freedom = 0.0
        if known := self._prior(metric, is_average):
            freedom = min(PRIOR_WEIGHT, known.freedom)
            variance = freedom * (known.seed + known.interaction / sentences)
        of_study, more = self.own.get((task, metric, is_average), (0.0, 0.0))
        if not freedom + more:
            return None
        return math.sqrt((variance + more * of_study) / (freedom + more))

    def sentence_sd(self, metric: str, sentences: int) -> float:
        """Return the standard deviation of a difference over test sets; 0: not known for this metric."""
        known = self._prior(metric, False)
        return math.sqrt(known.sentences / sentences) if known else 0.0


def pooled(groups: Iterable[tuple[float, ...]]) -> tuple[float, float]:
    """Return the variance within groups of values and its degrees of freedom; (0, 0) if all groups have one value."""
    several = [values for values in groups if len(values) > 1]
    freedom = sum(len(values) - 1 for values in several)
    squares = sum(float(np.var(values)) * len(values) for values in several)
    return (squares / freedom, float(freedom)) if freedom else (0.0, 0.0)


def spread_of(study: Study, places: ResultPaths, config_folder: Path) -> Spread:
    """Return the spread to plan with, from the prior and from the runs of the study that exist.

    Raises:
        ConfigError: config/seed-spread.yaml is missing or invalid.
    """
    values: dict[tuple[str, str, bool], dict[tuple[str, str], tuple[float, ...]]] = {}
    for key, shown in study.config.tables.items():
        spec = table_spec(study, key, places, partial=True)
        if not isinstance(spec, ScoreTable) or spec.split != "test":
            continue
        for row in (row for row in spec.rows if not row.models):
            for (metric, column), found in measure(row, SharedConditions(spec.columns, spec.metrics)).items():
                place = (shown.task, metric, column == AVERAGE)
                values.setdefault(place, {})[row.method, column] = found.values  # a run in two tables counts once
    own = {place: pooled(of_rows.values()) for place, of_rows in values.items()}
    return Spread(load_model(config_file(config_folder, FILE), SeedSpread), own)
