"""Say what a study needs before anything runs: runs, hours, disk, which cells need which runs, what is done."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    parser.add_argument("study", nargs="?", help="of config/studies; default: that of config/config.yaml")
    parser.add_argument(
        "--config", nargs="+", default=[], metavar="KEY=VALUE", help="in place of config/config.yaml, as for snakemake"
    )
    parser.add_argument("--cells", metavar="TABLE", help="say which runs each row of this table needs")
    parser.add_argument("--json", action="store_true", help="everything, as JSON")
    parser.add_argument("--config-folder", type=Path, default=Path("config"), help="default: %(default)s")
    parser.add_argument("--results", type=Path, default=Path("results"), help="default: %(default)s")
    parser.add_argument("--corpora", type=Path, default=Path("resources/corpora"), help="default: %(default)s")
    parser.add_argument("--benchmarks", type=Path, default=Path("logs/benchmarks"), help="default: %(default)s")


def run(args: argparse.Namespace) -> None:
    """Resolve the study, look at what is there, and print the plan."""
    import json
    import shutil

    from mdnmt.config.cluster import load_cluster
    from mdnmt.config.loader import load_yaml, validate_model
    from mdnmt.config.project import ProjectConfig
    from mdnmt.errors import shown
    from mdnmt.planning.layout import places_of
    from mdnmt.planning.memory import require_memory
    from mdnmt.planning.needs import table_of
    from mdnmt.planning.plan import as_json, make_plan
    from mdnmt.planning.text import cells_text, plan_text
    from mdnmt.studies.resolve import resolve

    given = {**(load_yaml(args.config_folder / "config.yaml") or {}), **_overrides(args.config)}
    project = validate_model(given, ProjectConfig, f"{args.config_folder}/config.yaml or --config")
    name, provisional = args.study or project.study, project.first_downloads
    study = resolve(args.config_folder, name, args.corpora, project.seeds, provisional=provisional)
    cluster = load_cluster(args.config_folder) if shutil.which("sbatch") else None
    require_memory(study, places_of(study, args.results), cluster, project.device)
    plan = make_plan(study, args.results, args.corpora, args.benchmarks, _device(project.device))
    table = table_of(plan.tables, args.cells) if args.cells else None
    if args.json:
        print(json.dumps(as_json(plan), indent=2, ensure_ascii=False))
    else:
        text = cells_text(plan, table) if table else plan_text(plan)
        # Titles are a user's text; a terminal must not obey it.
        print("\n".join(shown(line) for line in text.split("\n")))


def _overrides(pairs: list[str]) -> dict[str, Any]:
    """Return KEY=VALUE pairs, values read as YAML, as Snakemake reads them.

    Raises:
        ConfigError: one has no key.
    """
    import yaml

    from mdnmt.errors import ConfigError

    found = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise ConfigError(f"--config: found {pair!r}, expected KEY=VALUE; the study's name stands before --config")
        try:
            found[key] = yaml.safe_load(value)
        except yaml.YAMLError:
            raise ConfigError(f"--config: the value of {key} is not YAML: {value!r}") from None
    return found


def _device(name: str) -> str:
    """Return the kind of device that a run would be given here."""
    if name != "auto":
        return name.partition(":")[0]
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"
