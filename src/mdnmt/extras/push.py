"""Copy finished runs to a shared folder, from which other machines pull them."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    parser.add_argument("store", type=Path, metavar="FOLDER", help="the shared folder; made if it does not exist")
    parser.add_argument("runs", nargs="*", metavar="RUN", help="address or folder of a finished run")
    parser.add_argument("--study", help="all finished runs of a study, and its translations from elsewhere")
    parser.add_argument("--config-folder", type=Path, default=Path("config"), help="default: %(default)s")
    parser.add_argument("--results", type=Path, default=Path("results"), help="default: %(default)s")
    parser.add_argument("--corpora", type=Path, default=Path("resources/corpora"), help="default: %(default)s")


def run(args: argparse.Namespace) -> None:
    """Push each run, and a study's translations from elsewhere."""
    from mdnmt.errors import ConfigError
    from mdnmt.exchange.bundle import RUNS
    from mdnmt.extras.stores.transfer import address_of, external_folders, push, push_external, runs_of_study
    from mdnmt.paths import RunPaths

    if "://" in str(args.store) or ":/" in str(args.store):
        raise ConfigError(f"{args.store}: expected a folder; only pull takes a web address")
    addresses = [address_of(name) for name in args.runs]
    if args.study:
        every = runs_of_study(args.study, args.config_folder, args.corpora)
        folders_of = {one: RunPaths(args.results / RUNS / one) for one in every}
        addresses += [one for one, paths in folders_of.items() if paths.record.is_file() and paths.model.is_file()]
    folders = external_folders(args.study, args.config_folder) if args.study else []
    if not addresses and not folders:
        raise ConfigError("found no finished run; expected RUN..., or --study NAME with finished runs")
    for folder in folders:
        print(f"{folder}: {'pushed' if push_external(folder, args.store) else 'is there already'}", flush=True)
    for address in dict.fromkeys(addresses):
        print(f"{address}: {'pushed' if push(args.results, args.store, address) else 'is there already'}", flush=True)
