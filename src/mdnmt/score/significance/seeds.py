"""Compare a system with the baseline over all seeds, in one metric on one domain, and decide on significance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from mdnmt.config.metrics import METRICS, Metric
from mdnmt.score.significance.holm import holm
from mdnmt.score.significance.paired_tests import PairedResult, interval
from mdnmt.score.significance.sentence_statistics import Array
from mdnmt.score.significance.variance_components import MIN_SEEDS, SeedTest, seed_test

Correction = Literal["holm", "none"]
Verdict = Literal["better", "worse"]
Over = Literal["sentences", "seeds and sentences"]
OverSeeds = Literal["better", "worse", "no difference", "inconclusive"]


@dataclass(frozen=True)
class Comparison:
    """How a system differs from the baseline.

    Attributes:
        delta: the system's mean over seeds minus the baseline's, in points.
        least: the smallest difference between a seed of the system and a seed of the baseline.
        most: the largest of these differences.
        low: lower end of delta's 95 % interval.
        high: upper end of this interval.
        over: what the interval covers: seeds and sentences with three or more seeds, otherwise sentences alone.
        seeds: number of the system's seeds.
        p_bootstrap: the largest bootstrap p-value over the seeds, each against the same seed of the baseline.
        p_sacrebleu: the same for sacreBLEU's bootstrap p-value.
        p_randomisation: the same for approximate randomisation.
        per_seed: the results of these tests for each seed.
        over_seeds: the test over seeds and sentences; None with too few seeds.
        p: the p-value that decides, before the correction.
        p_corrected: the same p-value after the correction.
        verdict: whether the system is significantly better or worse; None: neither.
        seeds_verdict: the verdict of the test over seeds and sentences.
    """

    delta: float
    least: float
    most: float
    low: float
    high: float
    over: Over
    seeds: int
    p_bootstrap: float
    p_sacrebleu: float
    p_randomisation: float
    per_seed: Mapping[str, PairedResult]
    over_seeds: SeedTest | None
    p: float = 1.0
    p_corrected: float = 1.0
    verdict: Verdict | None = None
    seeds_verdict: OverSeeds = "inconclusive"


def compare_seeds(
    per_seed: Mapping[str, PairedResult], scores: tuple[Array, Array], resampled: tuple[Array, Array], sentences: int
) -> Comparison:
    """Return the comparison of two systems; its verdict is still open (see `decide`).

    Args:
        per_seed: seed -> the system against the baseline with the same seed.
        scores: scores of the baseline and of the system, each [S], one per seed.
        resampled: the same on resampled test sets, each [R, S].
        sentences: number of sentences of the test set.
    """
    baseline_RS, system_RS = resampled
    enough = min(len(scores[0]), len(scores[1])) >= MIN_SEEDS and sentences > 1
    found = seed_test(*scores, baseline_RS, system_RS, sentences) if enough else None
    pairs = per_seed.values()
    low, high = (found.low, found.high) if found else interval(system_RS.mean(axis=1) - baseline_RS.mean(axis=1))
    return Comparison(
        delta=float(scores[1].mean() - scores[0].mean()),
        least=float(scores[1].min() - scores[0].max()),
        most=float(scores[1].max() - scores[0].min()),
        low=low,
        high=high,
        over="seeds and sentences" if found else "sentences",
        seeds=len(per_seed),
        p_bootstrap=max(pair.p_bootstrap for pair in pairs),
        p_sacrebleu=max(pair.p_sacrebleu for pair in pairs),
        p_randomisation=max(pair.p_randomisation for pair in pairs),
        per_seed=per_seed,
        over_seeds=found,
    )


def decide(
    found: dict[str, dict[str, dict[Metric, Comparison]]], correction: Correction, alpha: float
) -> dict[Metric, int]:
    """Decide all comparisons of a table (system -> domain -> metric) in place, and return their number by metric.

    With Holm's correction over all comparisons of a metric, the test over seeds decides if there are enough seeds;
    otherwise approximate randomisation decides, and every seed must be significant. Without correction, as in the
    papers, the bootstrap decides, and every seed must be significant.
    """
    families: dict[Metric, list[tuple[str, str]]] = {}
    for system, domains in found.items():
        for domain, metrics in domains.items():
            for metric in metrics:
                families.setdefault(metric, []).append((system, domain))
    for metric, places in families.items():
        family = [found[system][domain][metric] for system, domain in places]
        deciding = [_deciding(one, correction) for one in family]
        corrected = holm(deciding) if correction == "holm" else deciding
        for (system, domain), one, p, p_corrected in zip(places, family, deciding, corrected, strict=True):
            found[system][domain][metric] = replace(
                one,
                p=p,
                p_corrected=p_corrected,
                verdict=_verdict(one, p_corrected, correction, alpha, metric),
                seeds_verdict=_over_seeds(one, p_corrected, correction, alpha, metric),
            )
    return {metric: len(places) for metric, places in families.items()}


def _deciding(one: Comparison, correction: Correction) -> float:
    if correction == "none":
        return one.p_bootstrap
    return one.over_seeds.p if one.over_seeds else one.p_randomisation


def _verdict(one: Comparison, p: float, correction: Correction, alpha: float, metric: Metric) -> Verdict | None:
    """Return the verdict on a system; if sentences alone were tested, all seeds must agree.

    A low p for each seed is not enough: two seeds can differ significantly in opposite directions. With fewer than
    three seeds, every seed must also be better (or worse) than every seed of the baseline, which may have more seeds.
    """
    if p >= alpha:
        return None
    if one.over_seeds is None:
        return _direction([one.least, one.most], metric)
    deltas = [one.delta] if correction == "holm" else [pair.delta for pair in one.per_seed.values()]
    return _direction(deltas, metric)


def _over_seeds(one: Comparison, p: float, correction: Correction, alpha: float, metric: Metric) -> OverSeeds:
    if one.over_seeds is None:
        return "inconclusive"
    beyond = (p if correction == "holm" else one.over_seeds.p) < alpha
    return (_direction([one.delta], metric) if beyond else None) or "no difference"


def _direction(deltas: Sequence[float], metric: Metric) -> Verdict | None:
    """Return the verdict if all differences have the same sign, otherwise None."""
    sign = -1 if METRICS[metric].lower_is_better else 1
    if all(sign * delta > 0 for delta in deltas):
        return "better"
    return "worse" if all(sign * delta < 0 for delta in deltas) else None
