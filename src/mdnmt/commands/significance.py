"""Test whether the systems of a table differ from its baseline, over sentences and over seeds."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `mdnmt significance`."""
    parser.add_argument(
        "--spec",
        required=True,
        metavar="JSON",
        help='{"task": DIR, "baseline": "mixed", "limit": N or null, "metrics": ["bleu", "chrf"], '
        '"num_resamples": 1000, "num_trials": 10000, "correction": "holm" or "none", '
        '"systems": {"mixed": {"1": "<directory of the hypotheses of seed 1>"}, ...}, '
        '"comet": the same with sentence scores (comet-*.segments.json), if "metrics" has comet}',
    )
    parser.add_argument("--out", type=Path, required=True, help="JSON file to write")


def run(args: argparse.Namespace) -> None:
    """Write the comparison of all systems of the specification with its baseline."""
    from mdnmt.fsio import write_sealed
    from mdnmt.score.significance.compare_systems import SignificanceOptions, compare_systems
    from mdnmt.score.test_sets import load_test_sets, sums_of

    spec = _parse(args.spec)
    options: dict[str, Any] = {key: spec[key] for key in ("num_resamples", "num_trials", "correction") if key in spec}
    if "metrics" in spec:
        options["metrics"] = tuple(spec["metrics"])
    test_sets = load_test_sets(Path(spec["task"]), spec.get("limit"))
    systems, comet = _paths(spec["systems"]), _paths(spec.get("comet", {}))
    found = compare_systems(test_sets, spec["baseline"], systems, SignificanceOptions(**options), comet)
    translations = [path for seeds in systems.values() for folder in seeds.values() for path in sums_of(folder)]
    segments = [path for seeds in comet.values() for path in seeds.values()]
    write_sealed(args.out, found, made_from=[*translations, *segments], made_with=spec)


def _paths(of_systems: dict[str, dict[str, str]]) -> dict[str, dict[str, Path]]:
    return {name: {seed: Path(path) for seed, path in seeds.items()} for name, seeds in of_systems.items()}


def _parse(text: str) -> dict[str, Any]:
    from mdnmt.config.metrics import METRICS
    from mdnmt.errors import ConfigError

    try:
        spec: Any = json.loads(text)
    except ValueError as error:
        raise ConfigError(f"--spec: not JSON: {error}; expected an object, see mdnmt significance --help") from error
    if not isinstance(spec, dict):
        raise ConfigError(f"--spec: found a {type(spec).__name__}; expected an object, see mdnmt significance --help")
    allowed: dict[str, Any] = {"task": str, "baseline": str, "systems": dict, "limit": (int, type(None))}
    allowed |= {"metrics": list, "num_resamples": int, "num_trials": int, "correction": str, "comet": dict}
    for key, value in spec.items():
        if key not in allowed:
            raise ConfigError(f"--spec: unknown key {key!r}; expected {', '.join(allowed)}")
        if not isinstance(value, allowed[key]) or isinstance(value, bool):
            raise ConfigError(f"--spec: {key} is {json.dumps(value)}; see mdnmt significance --help for its keys")
    if missing := [key for key in ("task", "baseline", "systems") if key not in spec]:
        raise ConfigError(f"--spec: key {missing[0]!r} is missing; see mdnmt significance --help")
    if unknown := [name for name in spec.get("metrics", []) if name not in METRICS]:
        raise ConfigError(f"--spec: metrics: no metric {unknown[0]!r}; expected some of {', '.join(METRICS)}")
    if spec.get("correction", "holm") not in ("holm", "none"):
        raise ConfigError(f"--spec: correction is {spec['correction']!r}; expected holm or none")
    for key in ("systems", "comet"):
        for name, seeds in spec.get(key, {}).items():
            if not isinstance(seeds, dict) or not all(isinstance(path, str) for path in seeds.values()):
                raise ConfigError(f"--spec: {key}.{name}: expected an object of seed -> path")
    return spec
