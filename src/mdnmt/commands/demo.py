"""Make the demo, real text in, report out, in the current folder: minutes, without a GPU."""

from __future__ import annotations

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    parser.add_argument("--cores", default="all", help="for other options of snakemake: mdnmt run demo OPTION...")
    parser.add_argument("-n", "--dry-run", action="store_true", help="only list what would run")


def run(args: argparse.Namespace) -> int:
    """Start snakemake and return its exit status; raises as `mdnmt run`."""
    from mdnmt.commands import run as run_study

    options = ["--cores", args.cores, *(["-n"] if args.dry_run else [])]
    return run_study.run(argparse.Namespace(study="demo", options=options))
