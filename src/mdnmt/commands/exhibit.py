"""Make tables, figures, claims, numbers and the page of a study from its finished results, in one process."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    parser.add_argument("study", help="a study of config/studies")
    parser.add_argument(
        "keys", nargs="*", metavar="KEY", help="what to make: a path below results/STUDY without its ending, such as "
        "tables/jiang2020-table2; tables or figures: all of them; runs, numbers, report",
    )  # fmt: skip
    parser.add_argument(
        "--partial", action="store_true", help="tables, figures and page from whatever exists, in results/STUDY/partial"
    )
    parser.add_argument("--planned", metavar="HASHES", help="refuse a study whose exhibits have become others")
    parser.add_argument(
        "--config", nargs="+", default=[], metavar="KEY=VALUE", help="override config/config.yaml, as for snakemake"
    )
    parser.add_argument("--config-folder", type=Path, default=Path("config"), help="default: %(default)s")
    parser.add_argument("--results", type=Path, default=Path("results"), help="default: %(default)s")
    parser.add_argument("--corpora", type=Path, default=Path("resources/corpora"), help="default: %(default)s")


def run(args: argparse.Namespace) -> None:
    """Resolve the study and make what was asked for.

    Raises:
        ConfigError: neither keys nor --partial were given, or both.
    """
    from mdnmt.errors import ConfigError
    from mdnmt.exchange.project_study import open_study, read_given
    from mdnmt.report.make_exhibits import Exhibits

    if bool(args.keys) == args.partial:
        raise ConfigError("expected the KEYs of exhibits, or --partial; mdnmt exhibit --help explains both")
    given = read_given(args.config_folder, args.study, args.config)
    opened = open_study(args.config_folder, given, args.corpora, args.results)
    exhibits = Exhibits(opened.study, opened.places, opened.project.command)
    if args.partial:
        print(f"report: {exhibits.make_partial()}")
    else:
        exhibits.make(args.keys, args.planned.split(",") if args.planned else ())
