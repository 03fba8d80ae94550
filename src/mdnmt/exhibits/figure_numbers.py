"""The numbers that a figure shows and that decide claims: one per seed, as JSON beside the picture."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from mdnmt import fsio
from mdnmt.exhibits.analysis_files import Floats

At = Mapping[str, str | int | float]


@dataclass(frozen=True)
class Measure:
    """One number of one run: its system, its name, and where (side, layer, domain, ...) it was measured.

    `seed` is None if it is not known, or if the number is over all seeds.
    """

    method: str
    label: str
    seed: int | None
    name: str
    value: float
    at: At = field(default_factory=dict)


def write(
    path: Path,
    kind: str,
    title: str,
    measures: Iterator[Measure],
    made: Mapping[str, Any],
    made_from: Iterable[Path] = (),
    made_with: Any = None,
) -> None:
    """Write {"kind", "title", "measures", "made"}, sealed; leave out values that are not finite (a mean of nothing)."""
    found = [asdict(measure) for measure in measures if math.isfinite(measure.value)]
    value = {"kind": kind, "title": title, "measures": found, "made": dict(made)}
    fsio.write_sealed(path, value, made_from, made_with=made_with)


def entropy(shares: Any) -> Floats:
    """Return the normalised entropy over the last axis, from 0 (one share is 1) to 1 (all shares are equal)."""
    p = np.asarray(shares, dtype=np.float64)
    if p.shape[-1] < 2:
        return np.zeros(p.shape[:-1])
    found: Floats = -(p * np.log(np.maximum(p, 1e-12))).sum(axis=-1) / math.log(p.shape[-1])
    return found


def divergence(shares_DN: Any) -> float:
    """Return the mean Jensen-Shannon divergence over all pairs of rows, in bits: from 0 (equal) to 1 (disjoint)."""
    p = np.asarray(shares_DN, dtype=np.float64)
    bits = math.log2(p.shape[-1]) if p.shape[-1] > 1 else 0.0
    pairs = [
        float(entropy((p[i] + p[j]) / 2) - (entropy(p[i]) + entropy(p[j])) / 2) for i in range(len(p)) for j in range(i)
    ]
    return bits * float(np.mean(pairs)) if pairs else math.nan


def rank_correlation(one: Any, other: Any) -> float:
    """Return Spearman's rank correlation, with mean ranks for ties; the only one of the project.

    It is NaN where it is undefined or means nothing: if all values of one side are equal, and for fewer than three
    values (that of two values is always 1 or -1).
    """
    from scipy.stats import spearmanr  # type: ignore[import-untyped]  # takes a second to import

    x, y = (np.asarray(values, dtype=np.float64) for values in (one, other))
    if len(x) < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return math.nan
    return float(spearmanr(x, y).statistic)
