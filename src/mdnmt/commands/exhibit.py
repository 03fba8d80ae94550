"""Make tables, figures and a page of a study from whatever exists, in results/STUDY/partial."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    parser.add_argument("study", help="a study of config/studies")
    parser.add_argument(
        "keys", nargs="*", metavar="KEY", help="tables/jiang2020-table2, tables, figures, ... (default: everything)"
    )  # fmt: skip
    parser.add_argument("--planned", metavar="HASHES", help="for Snakemake's jobs: make what was planned, in its place")
    parser.add_argument(
        "--config", nargs="+", default=[], metavar="KEY=VALUE", help="override config/config.yaml, as for snakemake"
    )
    parser.add_argument("--config-folder", type=Path, default=Path("config"), help="default: %(default)s")
    parser.add_argument("--results", type=Path, default=Path("results"), help="default: %(default)s")
    parser.add_argument("--corpora", type=Path, default=Path("resources/corpora"), help="default: %(default)s")


def run(args: argparse.Namespace) -> None:
    """Resolve the study and make what was asked for."""
    from mdnmt.exchange.project_study import open_study, read_given
    from mdnmt.report.make_exhibits import Exhibits

    given = read_given(args.config_folder, args.study, args.config)
    opened = open_study(args.config_folder, given, args.corpora, args.results)
    exhibits = Exhibits(opened.study, opened.places, opened.project.command)
    if args.planned:
        exhibits.make(args.keys, args.planned.split(","))
    else:
        print(exhibits.make_from_what_exists(args.keys))
