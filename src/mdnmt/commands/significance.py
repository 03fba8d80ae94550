"""Test by paired bootstrap whether systems differ from the baseline, for each domain and seed."""

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
        help='{"task": DIR, "baseline": "mixed", "limit": N or null, "num_resamples": 1000, '
        '"systems": {"mixed": {"1": "<directory of the hypotheses of seed 1>"}, ...}}',
    )
    parser.add_argument("--out", type=Path, required=True, help="JSON file to write")


def run(args: argparse.Namespace) -> None:
    """Write the comparison of all systems of the specification with its baseline."""
    from mdnmt.fsio import write_json
    from mdnmt.score.paired import NUM_RESAMPLES
    from mdnmt.score.significance import compare_systems
    from mdnmt.score.testset import load_test_sets

    spec = _parse(args.spec)
    systems = {
        name: {seed: Path(folder) for seed, folder in folders.items()} for name, folders in spec["systems"].items()
    }
    limit, num_resamples = spec.get("limit"), spec.get("num_resamples", NUM_RESAMPLES)
    write_json(
        args.out, compare_systems(load_test_sets(Path(spec["task"]), limit), spec["baseline"], systems, num_resamples)
    )


def _parse(text: str) -> dict[str, Any]:
    from mdnmt.errors import ConfigError

    try:
        spec: Any = json.loads(text)
    except ValueError as error:
        raise ConfigError(f"--spec: not JSON: {error}; expected an object, see mdnmt significance --help") from error
    if not isinstance(spec, dict):
        raise ConfigError(f"--spec: found a {type(spec).__name__}; expected an object, see mdnmt significance --help")
    allowed = {"task": str, "baseline": str, "systems": dict, "limit": (int, type(None)), "num_resamples": int}
    for key, value in spec.items():
        if key not in allowed:
            raise ConfigError(f"--spec: unknown key {key!r}; expected {', '.join(allowed)}")
        if not isinstance(value, allowed[key]) or isinstance(value, bool):  # type: ignore[arg-type]
            raise ConfigError(f"--spec: {key} is {json.dumps(value)}; see mdnmt significance --help for what it holds")
    if missing := [key for key in ("task", "baseline", "systems") if key not in spec]:
        raise ConfigError(f"--spec: key {missing[0]!r} is missing; see mdnmt significance --help")
    for name, folders in spec["systems"].items():
        if not isinstance(folders, dict) or not all(isinstance(folder, str) for folder in folders.values()):
            raise ConfigError(f"--spec: systems.{name}: expected an object of seed -> directory of hypotheses")
    return spec
