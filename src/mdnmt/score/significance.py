"""Every system of a study against its baseline: domain by domain, seed by seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

from mdnmt.errors import DataError
from mdnmt.score.domains import METRICS
from mdnmt.score.paired import NUM_RESAMPLES, SEED, PairedResult, paired_bootstrap
from mdnmt.score.seeds import seed_order, spread
from mdnmt.score.testset import TestSets, hypothesis_path

ALPHA = 0.05
P_RULE = (
    "paired bootstrap of equal seeds; with several seeds the largest p over the seeds; "
    "better or worse: every seed's delta has that sign and every seed's p is below alpha"
)

HypothesisDirs = Mapping[str, Mapping[str, Path]]  # system -> seed -> directory of its hypotheses


def compare_systems(
    test_sets: TestSets,
    baseline: str,
    systems: HypothesisDirs,
    num_resamples: int = NUM_RESAMPLES,
    alpha: float = ALPHA,
) -> dict[str, Any]:
    """Compare each of `systems` with the one named `baseline`, a seed with the same seed.

    A domain for which a system has no hypotheses with any seed (single-domain systems) is left out for it.

    Returns:
        {"baseline", "num_resamples", "seed", "alpha", "p_rule", "systems": {system: {domain: {metric: {"delta" (mean
        over seeds), "sd", "p" (largest over seeds), "verdict" ("better", "worse" or None), "seeds" (how many),
        "per_seed": {seed: `PairedResult` as a dictionary}}}}}}

    Raises:
        DataError: the baseline is not there or lacks a seed of a system, or hypotheses are missing or do not fit.
    """
    if baseline not in systems:
        raise DataError(f"no system {baseline!r} to be the baseline; the systems are {', '.join(systems) or '(none)'}")
    compared: dict[str, Any] = {}
    for system, folders in systems.items():
        if system == baseline:
            continue
        if not folders or (lacking := sorted(folders.keys() - systems[baseline].keys(), key=seed_order)):
            what = f"seed {lacking[0]} of {system!r} has none of {baseline!r}" if folders else f"{system!r} has no seed"
            raise DataError(f"{what} to be compared with; give both systems the same seeds")
        compared[system] = {}
        for domain in test_sets.domains:
            if any(hypothesis_path(folder, domain).exists() for folder in folders.values()):
                pairs = {seed: (systems[baseline][seed], folders[seed]) for seed in sorted(folders, key=seed_order)}
                compared[system][domain] = _compare_domain(test_sets, domain, pairs, num_resamples, alpha)
        if not compared[system]:
            raise DataError(
                f"{next(iter(folders.values()))}: no hypotheses of {system!r} for any domain; expected "
                f"hyp.<domain>.txt for at least one of {', '.join(test_sets.domains)}"
            )
    return {
        "baseline": baseline,
        "num_resamples": num_resamples,
        "seed": SEED,
        "alpha": alpha,
        "p_rule": P_RULE,
        "systems": compared,
    }


def _compare_domain(
    test_sets: TestSets, domain: str, pairs: Mapping[str, tuple[Path, Path]], num_resamples: int, alpha: float
) -> dict[str, Any]:
    references = test_sets.references(domain)
    results: dict[str, dict[str, PairedResult]] = {
        seed: paired_bootstrap(
            test_sets.hypotheses(baseline_dir, domain),
            test_sets.hypotheses(system_dir, domain),
            references,
            test_sets.target_lang,
            num_resamples,
        )
        for seed, (baseline_dir, system_dir) in pairs.items()
    }
    summary = {}
    for metric in METRICS:
        over_seeds = spread({seed: result[metric].delta for seed, result in results.items()})
        summary[metric] = {
            "delta": over_seeds.mean,
            "sd": over_seeds.sd,
            "p": max(result[metric].p for result in results.values()),
            "verdict": verdict([result[metric] for result in results.values()], alpha),
            "seeds": over_seeds.num_seeds,
            "per_seed": {seed: asdict(result[metric]) for seed, result in results.items()},
        }
    return summary


def verdict(results: Sequence[PairedResult], alpha: float) -> Literal["better", "worse"] | None:
    """Return what the seeds agree on: the sign of every difference, each with p below `alpha`; None where they do not.

    The largest p alone would not do: two seeds can differ significantly in opposite directions.
    """
    if any(result.p >= alpha for result in results):
        return None
    if all(result.delta > 0 for result in results):
        return "better"
    return "worse" if all(result.delta < 0 for result in results) else None
