"""Copy finished runs from a bundle, a store or the parts of a campaign into the results, and verify them."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    parser.add_argument(
        "store", metavar="FOLDER|URL|PART", help="what mdnmt bundle, push or campaign wrote: folder, URL, .zip"
    )
    parser.add_argument(
        "runs", nargs="*", metavar="RUN", help="address of a run: <task>/<method>/seed<k>-<hash>; more parts"
    )
    parser.add_argument("--study", help="all runs of a study; from a store, its translations from elsewhere too")
    parser.add_argument("--config-folder", type=Path, default=Path("config"), help="default: %(default)s")
    parser.add_argument("--results", type=Path, default=Path("results"), help="default: %(default)s")
    parser.add_argument("--benchmarks", type=Path, default=Path("logs/benchmarks"), help="default: %(default)s")
    parser.add_argument("--corpora", type=Path, default=Path("resources/corpora"), help="default: %(default)s")


def run(args: argparse.Namespace) -> None:
    """Pull each run; a failure does not stop the others."""
    from mdnmt.errors import ConfigError, DataError
    from mdnmt.exchange.bundle import MANIFEST, Bundle
    from mdnmt.extras.stores.transfer import (
        address_of,
        drop_benchmarks,
        external_folders,
        pull,
        pull_external,
        runs_of_study,
        unbuilt_task,
    )
    from mdnmt.extras.stores.without_weights import take_from_bundle, take_in

    unbuilt, failed = set[Path](), 0

    def report(address: str, said: str, *, is_new: bool) -> None:
        if is_new:
            drop_benchmarks(args.benchmarks, address)
        print(f"{address}: {said}", flush=True)
        if folder := unbuilt_task(args.results, address):
            unbuilt.add(folder)

    wanted, bundle = list[str](), None
    if args.store.endswith(".zip") and "://" not in args.store:
        for part in (args.store, *args.runs):
            for address, said in take_in(Path(part), args.results).items():
                report(address, said, is_new=said == "taken in")
    else:
        is_bundle = "://" not in args.store and (Path(args.store) / MANIFEST).is_file()
        bundle = Bundle(Path(args.store)) if is_bundle else None
        addresses = [address_of(name) for name in args.runs]
        if args.study:
            # The study cannot be resolved without its translations from elsewhere; a bundle has none for it.
            for place in external_folders(args.study, args.config_folder) if bundle is None else ():
                print(f"{place}: {'pulled' if pull_external(args.store, place) else 'is here already'}", flush=True)
            found = runs_of_study(args.study, args.config_folder, args.corpora)
            there = found if bundle is None else [address for address in found if bundle.files(address)]
            addresses += there
            if len(there) < len(found):
                print(f"{args.store}: has {len(there)} of the {len(found)} runs of study {args.study}", flush=True)
        elif bundle is not None and not addresses:
            addresses = bundle.runs
        if not addresses:
            if args.study:
                raise ConfigError(f"{args.store}: no run to pull for study {args.study}")
            raise ConfigError(f"{args.store}: is no bundle, so expected RUN... or --study NAME, found neither")
        wanted = list(dict.fromkeys(addresses))
    for address in wanted:
        try:
            if bundle is not None:
                said = take_from_bundle(bundle, args.results, address)
            else:
                said = "pulled" if pull(args.store, args.results, address) else "is here already"
            report(address, said, is_new=said in ("pulled", "taken in"))
        except DataError as error:
            failed += 1
            print(f"{address}: not pulled: {error}", flush=True)
    for folder in sorted(unbuilt):
        print(
            f"{folder}: not built here; before the study, start `snakemake --cores all data --config study="
            f"{args.study or 'NAME'}`, else Snakemake trains the runs of this task again"
        )
    if failed:
        raise DataError(f"{failed} of {len(wanted)} runs were not pulled; the lines above say why")
