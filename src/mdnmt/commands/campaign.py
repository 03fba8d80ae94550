"""Train, translate, score and analyse the runs of a study side by side, here or on a machine without Snakemake."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mdnmt.operations.campaign.jobs import Campaign


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    parser.add_argument("study", metavar="STUDY|FILE", help="a study of config/studies, or what --pack wrote")
    parser.add_argument("--jobs", type=int, help="runs at once (default: one for each core)")
    parser.add_argument("--minutes", type=float, help="stop after this time; the same command goes on from there")
    parser.add_argument("--pack", type=Path, metavar="FILE", help="make nothing; write the study to FILE (.zip)")
    parser.add_argument(
        "--parts", type=Path, metavar="FOLDER", help="with FILE: results for `mdnmt pull` (default: parts)"
    )
    parser.add_argument("--device", help="auto, cpu or cuda (default: that of config/config.yaml, with FILE auto)")
    parser.add_argument(
        "--graphs", choices=["auto", "on", "off"], help="CUDA graphs (default: as in config/config.yaml)"
    )
    parser.add_argument("--config-folder", type=Path, default=Path("config"), help="default: %(default)s")
    parser.add_argument("--corpora", type=Path, default=Path("resources/corpora"), help="default: %(default)s")
    parser.add_argument("--logs", type=Path, default=Path("logs/campaign"), help="default: %(default)s")


def run(args: argparse.Namespace) -> None:
    """Make the runs, or pack them.

    Raises:
        Interrupted: the time was up, or somebody asked to stop.
        DataError: runs failed.
    """
    import os
    import sys

    from mdnmt.errors import ConfigError, DataError, Interrupted
    from mdnmt.gpu import SLOTS, count_visible
    from mdnmt.operations.campaign.scheduler import run_jobs
    from mdnmt.provenance import usable_cores

    at_once = args.jobs or usable_cores()
    if at_once < 1 or (args.minutes is not None and args.minutes <= 0):
        raise ConfigError(f"found --jobs {at_once} and --minutes {args.minutes}, expected more than 0")
    is_packed = args.study.endswith(".zip")
    # Before the first fork; numpy and torch would each start a thread for every core.
    os.environ["OMP_NUM_THREADS"] = "1"
    if is_packed:
        from mdnmt.operations.campaign.pack import PACKAGES, open_pack

        campaign, device = open_pack(Path(args.study)), args.device or "auto"
        sys.path.append(str(Path(PACKAGES).absolute()))  # last, so that installed packages are preferred
    else:
        campaign, device = _of_study(args)
    for step in campaign.before:
        if not step.is_done and (status := _verb(list(step.arguments))):
            raise DataError(f"mdnmt {step.arguments[0]} ended with status {status}; the line above says why")
    if args.pack is not None:
        _pack(campaign, args.pack)
        return
    cards = count_visible(device)
    os.environ[SLOTS] = str(-(-at_once // cards) if cards else 1)
    made, failed = run_jobs(
        campaign.jobs,
        _verb,
        at_once=at_once,
        device=device,
        logs=args.logs,
        seconds=60 * args.minutes if args.minutes else None,
        train_options=("--graphs", args.graphs) if args.graphs else (),
        say=lambda line: print(line, flush=True),
    )
    if is_packed or args.parts is not None:
        _write_parts(campaign, made, args.parts or Path("parts"))
    done = f"{len(made)} of {len(campaign.jobs)} runs are done"
    if failed:
        run, why = next(iter(failed.items()))
        raise DataError(f"{done}, {len(failed)} failed; the first is {run}: {why}")
    if len(made) < len(campaign.jobs):
        raise Interrupted(f"{done}; the others are saved, start the same command again")
    print(f"{done}" if is_packed else f"{done}; now `snakemake --cores all --config study={campaign.study}`")


def _verb(arguments: list[str]) -> int:
    """Run a command line of `mdnmt` in this process and return its status."""
    import importlib

    # By name: the command line imports this module.
    return int(importlib.import_module("mdnmt.cli").main(arguments))


def _of_study(args: argparse.Namespace) -> tuple[Campaign, str]:
    """Return the campaign of a study of this project, and the device.

    Raises:
        ConfigError: the data of a task are not made yet.
    """
    import os

    from mdnmt.errors import ConfigError
    from mdnmt.exchange.project_study import open_study, read_given
    from mdnmt.operations.campaign.study_jobs import campaign_of
    from mdnmt.operations.plan.study_plan import make_plan
    from mdnmt.paths import RunPaths
    from mdnmt.plugin_kinds import PLANNER
    from mdnmt.plugins import VARIABLE, folder, get

    results = Path("results")
    opened = open_study(args.config_folder, read_given(args.config_folder, args.study, ()), args.corpora, results)
    study, places = opened.study, opened.places
    os.environ[VARIABLE] = str(folder())
    used = dict.fromkeys(run.task for run in study.makeable())
    if unbuilt := [name for name in used if not Path(places.task(name), "task.json").is_file()]:
        raise ConfigError(
            f"the data of {', '.join(unbuilt)} are not made yet; first start `snakemake --cores all data --config "
            f"study={study.name}`"
        )
    elsewhere = {run.address for run in study.makeable() if RunPaths(results / "runs" / run.address).has_no_weights}
    plan = make_plan(study, results, args.corpora, Path("logs/benchmarks"), "cpu")
    # This process stops trainings itself, and each run is trained by one process.
    options = opened.project.model_copy(update={"stop_after_minutes": None, "workers": 1}).training_options.split()
    order = get(PLANNER, "power").order(plan, args.config_folder)
    return campaign_of(study, places, order, options, elsewhere), args.device or opened.project.device


def _pack(campaign: Campaign, path: Path) -> None:
    from mdnmt.errors import ConfigError
    from mdnmt.operations.campaign.pack import write_pack

    if path.suffix != ".zip":
        raise ConfigError(f"--pack {path}: expected a name that ends in .zip")
    packed, left_out = write_pack(campaign, path)
    for name, why in left_out.items():
        print(f"{name}: left out: {why}")
    print(f"{path}: {len(packed)} runs, {path.stat().st_size / 2**20:.1f} MiB")


def _write_parts(campaign: Campaign, done: Sequence[str], folder: Path) -> None:
    from mdnmt.exchange.campaign_results import PARTS_MAX, write_parts

    written, left_out = write_parts(Path("results"), done, folder, f"campaign-{campaign.study}")
    for path in written:
        print(f"{path}: {path.stat().st_size / 2**20:.1f} MiB")
    for name in left_out:
        print(f"{name}: has no room in {PARTS_MAX} parts; it is only here, in results/runs")
