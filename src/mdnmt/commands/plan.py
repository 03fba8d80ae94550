"""Estimate what a study needs before it runs: runs, hours, disk, and what is done already."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    parser.add_argument("study", nargs="?", help="a study of config/studies (default: that of config/config.yaml)")
    parser.add_argument(
        "--config", nargs="+", default=[], metavar="KEY=VALUE", help="override config/config.yaml, as for snakemake"
    )
    parser.add_argument(
        "--card", metavar="NAME", help="plan for one GPU of this kind, e.g. h200 (config/cards.yaml), wherever it is"
    )
    parser.add_argument("--cells", metavar="TABLE", help="list the runs that each row of this table needs")
    claims = parser.add_mutually_exclusive_group()
    claims.add_argument("--power", action="store_true", help="which claims the study can decide, with which seeds")
    claims.add_argument(
        "--budget", type=_hours, metavar="HOURS", help="rows and seeds that decide the most claims in e.g. 20h"
    )
    claims.add_argument("--next", action="store_true", help="the run that would add the most decided claims now")
    parser.add_argument("--json", action="store_true", help="everything, as JSON")
    parser.add_argument("--config-folder", type=Path, default=Path("config"), help="default: %(default)s")
    parser.add_argument("--results", type=Path, default=Path("results"), help="default: %(default)s")
    parser.add_argument("--corpora", type=Path, default=Path("resources/corpora"), help="default: %(default)s")
    parser.add_argument("--benchmarks", type=Path, default=Path("logs/benchmarks"), help="default: %(default)s")


def run(args: argparse.Namespace) -> None:
    """Resolve the study, check what exists, and print the plan."""
    import json
    import shutil

    from mdnmt.config.cards import find_card
    from mdnmt.config.cluster import load_cluster
    from mdnmt.errors import ConfigError, printable_lines
    from mdnmt.exchange.project_study import open_study, read_given
    from mdnmt.operations.plan.cluster_resources import Jobs
    from mdnmt.operations.plan.exhibit_needs import table_of
    from mdnmt.operations.plan.memory_limits import require_memory
    from mdnmt.operations.plan.plan_text import cells_text, plan_text
    from mdnmt.operations.plan.study_plan import as_json, make_plan
    from mdnmt.plugin_kinds import PLANNER
    from mdnmt.plugins import get
    from mdnmt.studies.external_systems import check_external

    card = find_card(args.config_folder, args.card) if args.card else None
    given = read_given(args.config_folder, args.study, args.config)
    opened = open_study(args.config_folder, given, args.corpora, args.results, provisional=True)
    project, study, places = opened.project, opened.study, opened.places
    cluster = load_cluster(args.config_folder) if shutil.which("sbatch") and card is None else None
    require_memory(study, places, cluster, project.device, card)
    check_external(study, places)
    if card or project.device.startswith("cuda"):
        device = "cuda"
    else:  # where there is SLURM, its jobs compute, not this machine
        device = Jobs(cluster, study, places, project.device).device if cluster else _device(project.device)
    plan = make_plan(study, args.results, args.corpora, args.benchmarks, device, cluster is not None, card)
    table = table_of(plan.tables, args.cells) if args.cells else None
    if args.power or args.next or args.budget is not None:
        if args.json or args.cells:
            raise ConfigError("--power, --budget and --next print text; leave out --json and --cells")
        planner = get(PLANNER, "power")
        print(printable_lines(planner.text(plan, args.config_folder, power=args.power, budget_hours=args.budget)))
    elif args.json:
        print(json.dumps(as_json(plan), indent=2))
    else:
        # Titles are user text, which must not control the terminal.
        print(printable_lines(cells_text(plan, table) if table else plan_text(plan)))


def _hours(text: str) -> float:
    """Return a number of hours, with or without `h` behind it."""
    hours = float(text.removesuffix("h"))
    if not 0 < hours < float("inf"):
        raise ValueError(text)
    return hours


def _device(name: str) -> str:
    """Return the kind of device that a run would use here."""
    from mdnmt.gpu import count_visible

    if name != "auto":
        return name.partition(":")[0]
    return "cuda" if count_visible(name) else "cpu"
