"""Test whether the systems of a table differ from its baseline, over sentences and seeds, and write the outcome."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mdnmt.fsio import write_sealed
from mdnmt.score.significance.compare_systems import SignificanceOptions, compare_systems
from mdnmt.score.test_sets import load_test_sets, sums_of


def write_comparison(spec: Mapping[str, Any], path: Path) -> None:
    """Compare all systems with the baseline and write what was found, with the options that it was found with.

    Args:
        spec: `task`, the folder of the task's data; `limit`, how many test sentences of each domain count (None: all);
            `baseline`; `systems`, name -> seed -> folder of hypotheses; `comet`, the same with sentence scores; and the
            options of `SignificanceOptions`.
        path: the JSON file to write.

    Raises:
        DataError: hypotheses are missing or do not match the references.
    """
    test_sets = load_test_sets(Path(spec["task"]), spec["limit"])
    systems, comet = _paths(spec["systems"]), _paths(spec["comet"])
    options = SignificanceOptions(
        metrics=tuple(spec["metrics"]),
        num_resamples=spec["num_resamples"],
        num_trials=spec["num_trials"],
        correction=spec["correction"],
    )
    found = compare_systems(test_sets, spec["baseline"], systems, options, comet)
    translations = [path for seeds in systems.values() for folder in seeds.values() for path in sums_of(folder)]
    segments = [path for seeds in comet.values() for path in seeds.values()]
    write_sealed(path, found, made_from=[*translations, *segments], made_with=spec)


def _paths(of_systems: Mapping[str, Mapping[str, str]]) -> dict[str, dict[str, Path]]:
    return {name: {seed: Path(path) for seed, path in seeds.items()} for name, seeds in of_systems.items()}
