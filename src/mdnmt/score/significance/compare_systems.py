"""Compare each system of a table with the baseline, for each domain and metric: differences, p-values, verdicts.

Each seed is tested over sentences (`paired_tests`). With three or more seeds, another test covers seed variance and
sentence variance (`variance_components`). All comparisons in one metric are corrected as one family (`holm`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from mdnmt.config.metrics import Metric
from mdnmt.errors import DataError
from mdnmt.fsio import write_sealed
from mdnmt.score.significance.holm import draws_needed
from mdnmt.score.significance.paired_tests import check, paired_result
from mdnmt.score.significance.resampling import SEED, bootstrap_scores, randomised_differences
from mdnmt.score.significance.seeds import Comparison, compare_seeds, decide
from mdnmt.score.significance.sentence_statistics import Array, SentenceCounts, counter
from mdnmt.score.test_sets import TestSets, has_hypotheses, load_test_sets, sums_of

Folders = Mapping[str, Mapping[str, Path]]  # system -> seed -> directory of its hypotheses
ALPHA = 0.05  # significance level; a lower p-value earns a star
Found = dict[str, dict[str, dict[Metric, Comparison]]]  # system -> domain -> metric


def write_comparison(spec: Mapping[str, Any], path: Path) -> None:
    """Write what `compare_systems` finds, with the options that it was found with.

    Raises:
        DataError: as `compare_systems`.
    """
    folders = [Path(folder) for seeds in spec["systems"].values() for folder in seeds.values()]
    segments = [Path(file) for seeds in spec["comet"].values() for file in seeds.values()]
    made_from = [*(sums for folder in folders for sums in sums_of(folder)), *segments]
    write_sealed(path, compare_systems(spec), made_from, made_with=spec)


def compare_systems(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Compare all systems of a table with its baseline: seed by seed, and over all seeds together.

    A system is not compared on a domain without hypotheses of it (single-domain systems), or in a metric that is
    missing for one of its own or the baseline's seeds.

    Args:
        spec: `task`, the folder of the task's data; `limit`, how many test sentences of each domain count (None: all);
            `baseline`; `systems`, name -> seed -> folder of hypotheses; `comet`, the same with files of sentence
            scores; `metrics`; `num_resamples` and `num_trials`, the least numbers of draws; and `correction`: "holm",
            or "none", as for the stars in the papers' tables: the bootstrap without correction.

    Returns:
        The options; "comparisons": their number by metric; "num_resamples" and "num_trials": the numbers of draws used;
        and "systems": {system: {domain: {metric: `Comparison` as a dictionary}}}.

    Raises:
        DataError: the baseline is missing or lacks a seed of a system, or hypotheses are missing or do not match the
            references.
    """
    test_sets = load_test_sets(Path(spec["task"]), spec["limit"])
    baseline, correction = spec["baseline"], spec["correction"]
    systems, comet = (
        {name: {seed: Path(path) for seed, path in seeds.items()} for name, seeds in spec[key].items()}
        for key in ("systems", "comet")
    )
    _check_systems(baseline, systems)
    domains = {system: _domains(test_sets, system, folders) for system, folders in systems.items()}
    at_most = sum(len(there) for system, there in domains.items() if system != baseline)
    needed = draws_needed(at_most, ALPHA) if correction == "holm" else 1
    draws = (max(spec["num_resamples"], needed), max(spec["num_trials"], needed))
    found: Found = {system: {} for system in systems if system != baseline}
    for domain in test_sets.domains:
        there = {system: folders for system, folders in systems.items() if domain in domains[system]}
        counts = _count(test_sets, domain, there, spec["metrics"], comet)
        for (system, metric), compared in _compare_domain(baseline, counts, draws).items():
            found[system].setdefault(domain, {})[metric] = compared
    comparisons = decide(found, correction, ALPHA)
    return {
        "baseline": baseline,
        "alpha": ALPHA,
        "correction": correction,
        "seed": SEED,
        "num_resamples": draws[0],
        "num_trials": draws[1],
        "comparisons": comparisons,
        "systems": {
            system: {domain: {metric: asdict(one) for metric, one in metrics.items()} for domain, metrics in by.items()}
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
        check(*pair)
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
