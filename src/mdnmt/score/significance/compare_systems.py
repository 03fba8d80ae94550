"""Compare each system of a table with the baseline, for each domain and metric: differences, p-values, verdicts.

Each seed is tested over sentences (`paired_tests`). With three or more seeds, another test covers seed variance and
sentence variance (`variance_components`). All comparisons in one metric are corrected as one family (`holm`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from mdnmt.config.metrics import Metric
from mdnmt.errors import DataError
from mdnmt.score.significance.holm import draws_needed
from mdnmt.score.significance.paired_tests import NUM_RESAMPLES, NUM_TRIALS, check, paired_result
from mdnmt.score.significance.resampling import SEED, bootstrap_scores, randomised_differences
from mdnmt.score.significance.seeds import Comparison, compare_seeds, decide
from mdnmt.score.significance.sentence_statistics import Array, SentenceCounts, counter
from mdnmt.score.test_sets import TestSets, has_hypotheses

Folders = Mapping[str, Mapping[str, Path]]  # system -> seed -> directory of its hypotheses
Found = dict[str, dict[str, dict[Metric, Comparison]]]  # system -> domain -> metric


@dataclass(frozen=True)
class SignificanceOptions:
    """How systems are compared.

    Attributes:
        metrics: the metrics in which they are compared.
        num_resamples: least number of bootstrap resamples; the correction may need more.
        num_trials: least number of trials of the approximate randomisation.
        correction: "holm"; or "none", as for the stars in the papers' tables: the bootstrap without correction.
        alpha: significance level; a lower p-value earns a star.
    """

    __test__ = False  # keeps pytest from collecting it

    metrics: tuple[Metric, ...] = ("bleu", "chrf")
    num_resamples: int = NUM_RESAMPLES
    num_trials: int = NUM_TRIALS
    correction: Literal["holm", "none"] = "holm"
    alpha: float = 0.05


def compare_systems(
    test_sets: TestSets,
    baseline: str,
    systems: Folders,
    tests: SignificanceOptions | None = None,
    comet: Folders | None = None,
) -> dict[str, Any]:
    """Compare each of `systems` with the one named `baseline`: seed by seed, and over all seeds together.

    A system is not compared on a domain without hypotheses of it (single-domain systems), or in a metric that is
    missing for one of its own or the baseline's seeds.

    Args:
        test_sets: the task's test sets.
        baseline: name of one of `systems`.
        systems: folders of the hypotheses.
        tests: how to compare; None: the default options.
        comet: files of the COMET scores of sentences.

    Returns:
        The options; "comparisons": their number by metric; "num_resamples" and "num_trials": the numbers of draws used;
        and "systems": {system: {domain: {metric: `Comparison` as a dictionary}}}.

    Raises:
        DataError: the baseline is missing or lacks a seed of a system, or hypotheses are missing or do not match the
            references.
    """
    tests = tests or SignificanceOptions()
    _check_systems(baseline, systems)
    domains = {system: _domains(test_sets, system, folders) for system, folders in systems.items()}
    at_most = sum(len(there) for system, there in domains.items() if system != baseline)
    needed = draws_needed(at_most, tests.alpha) if tests.correction == "holm" else 1
    draws = (max(tests.num_resamples, needed), max(tests.num_trials, needed))
    found: Found = {system: {} for system in systems if system != baseline}
    for domain in test_sets.domains:
        there = {system: folders for system, folders in systems.items() if domain in domains[system]}
        counts = _count(test_sets, domain, there, tests.metrics, comet or {})
        for (system, metric), compared in _compare_domain(baseline, counts, draws).items():
            found[system].setdefault(domain, {})[metric] = compared
    comparisons = decide(found, tests.correction, tests.alpha)
    return {
        "baseline": baseline,
        "alpha": tests.alpha,
        "correction": tests.correction,
        "seed": SEED,
        "num_resamples": draws[0],
        "num_trials": draws[1],
        "comparisons": comparisons,
        "systems": {
            system: {
                domain: {metric: one.as_json() for metric, one in metrics.items()} for domain, metrics in by.items()
            }
            for system, by in found.items()
        },
    }


def seed_order(seed: str) -> tuple[int, str]:
    """Return a sort key that puts seed 2 before seed 10."""
    return (int(seed), seed) if seed.isdecimal() else (0, seed)


def _check_systems(baseline: str, systems: Folders) -> None:
    if baseline not in systems:
        raise DataError(f"no system {baseline!r} to be the baseline; the systems are {', '.join(systems) or '(none)'}")
    for system, folders in systems.items():
        if not folders or (lacking := sorted(folders.keys() - systems[baseline].keys(), key=seed_order)):
            what = f"seed {lacking[0]} of {system!r} has none of {baseline!r}" if folders else f"{system!r} has no seed"
            raise DataError(f"{what} to be compared with; give both systems the same seeds")


def _domains(test_sets: TestSets, system: str, folders: Mapping[str, Path]) -> set[str]:
    """Return the domains that a system translates; a file that was removed since is an error."""
    there = {name for name in test_sets.domains if any(has_hypotheses(f, name) for f in folders.values())}
    if not there:
        raise DataError(
            f"{next(iter(folders.values()))}: no hypotheses of {system!r} for any domain; expected hyp.<domain>.txt "
            f"for at least one of {', '.join(test_sets.domains)}"
        )
    return there


def _count(
    test_sets: TestSets, domain: str, systems: Folders, metrics: Sequence[Metric], comet: Folders
) -> dict[tuple[Metric, str], dict[str, SentenceCounts]]:
    """Return (metric, system) -> seed -> statistics, for each system that has the metric for every seed."""
    counts = {}
    for metric in metrics:
        count = counter(metric, test_sets, domain)
        for system, folders in systems.items():
            of_seeds = {
                seed: count(folders[seed], comet.get(system, {}).get(seed)) for seed in sorted(folders, key=seed_order)
            }
            whole = {seed: counted for seed, counted in of_seeds.items() if counted is not None}
            if len(whole) == len(folders):
                counts[metric, system] = whole
    return counts


def _compare_domain(
    baseline: str, counts: Mapping[tuple[Metric, str], Mapping[str, SentenceCounts]], draws: tuple[int, int]
) -> dict[tuple[str, Metric], Comparison]:
    """Return each system's comparison with the baseline; all systems, seeds and metrics use the same draws."""
    counts = {(metric, system): of for (metric, system), of in counts.items() if (metric, baseline) in counts}
    places = [(*key, seed) for key, of_seeds in counts.items() for seed in of_seeds]
    pairs = [(metric, system, seed) for metric, system, seed in places if system != baseline]
    if not pairs:
        return {}
    two = {(m, s, seed): (counts[m, baseline][seed], counts[m, s][seed]) for m, s, seed in pairs}
    for pair in two.values():
        check(*pair, *draws)
    scores = {place: counts[place[0], place[1]][place[2]].total for place in places}
    sampled = bootstrap_scores([counts[metric, system][seed] for metric, system, seed in places], draws[0])
    resampled = {place: sampled[:, column] for column, place in enumerate(places)}
    randomised = dict(zip(pairs, randomised_differences(list(two.values()), draws[1]).T, strict=True))
    found = {}
    for metric, system in dict.fromkeys((metric, system) for metric, system, _ in pairs):
        ours = [(metric, system, seed) for seed in counts[metric, system]]
        theirs = [(metric, baseline, seed) for seed in counts[metric, baseline]]
        per_seed = {}
        for place in ours:
            base = (metric, baseline, place[2])
            per_seed[place[2]] = paired_result(
                scores[base], scores[place], resampled[place] - resampled[base], randomised[place]
            )
        found[system, metric] = compare_seeds(
            per_seed,
            (_side(scores, theirs), _side(scores, ours)),
            (_side(resampled, theirs), _side(resampled, ours)),
            len(counts[metric, system][ours[0][2]].counts_NC),
        )
    return found


def _side(values: Mapping[tuple[Metric, str, str], Any], places: Sequence[tuple[Metric, str, str]]) -> Array:
    """Stack the values of one system's seeds: [S] for scores, [R, S] for resampled scores."""
    return np.stack([np.asarray(values[place]) for place in places], axis=-1)
