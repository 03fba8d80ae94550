"""Pack the evidence of a study, without weights, into a bundle to commit."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    parser.add_argument("study", help="study whose finished runs, tasks and exhibits are added")
    parser.add_argument("--bundle", type=Path, default=Path("docs/replication/bundle"), help="default: %(default)s")
    parser.add_argument("--config-folder", type=Path, default=Path("config"), help="default: %(default)s")
    parser.add_argument("--results", type=Path, default=Path("results"), help="default: %(default)s")
    parser.add_argument("--corpora", type=Path, default=Path("resources/corpora"), help="default: %(default)s")
    parser.add_argument("--runs-only", action="store_true", help="add no tasks and record no exhibits")
    parser.add_argument("--drop-others", action="store_true", help="first remove runs that the study does not have")
    parser.add_argument("--sign", type=Path, metavar="KEY", help="sign it with this SSH key")
    parser.add_argument(
        "--page", type=Path, metavar="FILE", help="write its runs, tables and claims to this Markdown page"
    )
    parser.add_argument(
        "--fill", type=Path, metavar="FILE", help="put the table of systems between the study's marks in this page"
    )


def run(args: argparse.Namespace) -> None:
    """Add finished runs."""
    from mdnmt.exchange.bundle import MANIFEST, Bundle
    from mdnmt.exchange.pack_study import drop_other_runs, pack_study
    from mdnmt.exchange.results_page import fill, results_page, systems
    from mdnmt.exchange.signature import name_of_key, sign
    from mdnmt.fsio import write_text
    from mdnmt.studies.resolve import resolve

    bundle = Bundle(args.bundle.resolve())
    if args.sign:
        name_of_key(args.sign)
    study = resolve(args.config_folder, args.study, args.corpora)
    for line in drop_other_runs(study, bundle) if args.drop_others else ():
        print(line)
    for line in pack_study(study, args.results, bundle, runs_only=args.runs_only):
        print(line)
    size = sum(int(entry["size_bytes"]) for entry in bundle.archives.values())
    print(f"{args.bundle}: {len(bundle.runs)} runs, {size / 1e6:.1f} MB")
    if args.page is not None:
        write_text(args.page, results_page(bundle, args.study))
    if args.fill is not None:
        page = args.fill.read_text(encoding="utf-8")
        write_text(args.fill, fill(page, args.study, systems(bundle, args.study)))
    if args.sign:
        print(f"signed with {sign(bundle.folder / MANIFEST, args.sign)}")
