"""Paired bootstrap of two systems on one test set (Koehn 2004), as sacreBLEU does it on its command line."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

from mdnmt.errors import DataError
from mdnmt.score.domains import METRICS

NUM_RESAMPLES = 1000
SEED = 12345  # sacreBLEU's default


@dataclass(frozen=True)
class PairedResult:
    """How a system differs from the baseline in one metric on one test set.

    Attributes:
        delta: system's score minus the baseline's.
        p: two-sided; how often chance alone gives a difference as large; 1 where the scores are equal.
        baseline_score: on the test set itself.
        baseline_mean: over the resamples.
        baseline_ci: half the width of the resamples' 95 % interval.
        system_score: as the baseline's.
        system_mean: as the baseline's.
        system_ci: as the baseline's.
        signature: sacreBLEU's, with seed and number of resamples.
    """

    delta: float
    p: float
    baseline_score: float
    baseline_mean: float
    baseline_ci: float
    system_score: float
    system_mean: float
    system_ci: float
    signature: str


def paired_bootstrap(
    baseline: Sequence[str],
    system: Sequence[str],
    references: Sequence[str],
    target_lang: str,
    num_resamples: int = NUM_RESAMPLES,
) -> dict[str, PairedResult]:
    """Compare two systems' hypotheses; both are resampled by the same draws of sentences.

    Returns:
        metric name ("bleu", "chrf") -> result.

    Raises:
        DataError: counts of lines differ, there is no sentence, or `num_resamples` is below 1.
    """
    if not len(baseline) == len(system) == len(references) or not references:
        raise DataError(
            f"found {len(baseline)} lines of the baseline, {len(system)} of the system, {len(references)} references: "
            "expected as many of each, one at least"
        )
    if num_resamples < 1:
        raise DataError(f"{num_resamples} resamples: expected 1 or more (the papers' habit is {NUM_RESAMPLES})")
    from sacrebleu.significance import PairedTest

    systems: list[tuple[str, Sequence[str]]] = [("baseline", baseline), ("system", system)]
    results = {}
    for name, module in METRICS.items():
        metric = module.metric(target_lang, references)
        with _seeded():
            test = PairedTest(systems, {name: metric}, references=None, test_type="bs", n_samples=num_resamples)
            signatures, scores = test()
        title = next(iter(signatures))
        base, other = cast("tuple[Any, Any]", scores[title])
        delta = float(other.score - base.score)
        results[name] = PairedResult(
            delta=delta,
            # sacreBLEU counts resamples strictly above the difference, which gives equal outputs the smallest p of all.
            p=float(other.p_value) if delta else 1.0,
            baseline_score=float(base.score),
            baseline_mean=float(base.mean),
            baseline_ci=float(base.ci),
            system_score=float(other.score),
            system_mean=float(other.mean),
            system_ci=float(other.ci),
            signature=str(signatures[title]),
        )
    return results


@contextmanager
def _seeded() -> Iterator[None]:
    """Set the seed that sacreBLEU takes from the environment, whatever the user's says."""
    before = os.environ.get("SACREBLEU_SEED")
    os.environ["SACREBLEU_SEED"] = str(SEED)
    try:
        yield
    finally:
        if before is None:
            del os.environ["SACREBLEU_SEED"]
        else:
            os.environ["SACREBLEU_SEED"] = before
