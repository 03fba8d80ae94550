"""List, and with --yes set aside, the runs of one method, so that they alone are trained again."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    parser.add_argument("method", help="a method of the study, or the folder of its runs, such as single-law")
    parser.add_argument("--study", help="a study of config/studies (default: that of config/config.yaml)")
    parser.add_argument("--seeds", type=int, nargs="+", default=[], metavar="SEED", help="only these (default: all)")
    parser.add_argument("--yes", action="store_true", help="set them aside (without it they are only listed)")
    parser.add_argument("--config", type=Path, default=Path("config"), help="default: %(default)s")
    parser.add_argument("--results", type=Path, default=Path("results"), help="default: %(default)s")
    parser.add_argument("--corpora", type=Path, default=Path("resources/corpora"), help="default: %(default)s")


def run(args: argparse.Namespace) -> None:
    """Resolve the study, and list or move the folders of the method's runs; nothing is removed."""
    from mdnmt.config.loader import load_model
    from mdnmt.config.project import ProjectConfig
    from mdnmt.operations.retrain import runs_to_retrain, set_aside
    from mdnmt.paths import RunPaths
    from mdnmt.studies.resolve import resolve
    from mdnmt.workspace import config_file

    project = load_model(config_file(args.config, "config.yaml"), ProjectConfig)
    # The study's own seeds, and those that config.yaml sets: each that the user names is known.
    study = resolve(args.config, args.study or project.study, args.corpora, tuple(args.seeds) or project.seeds)
    runs = runs_to_retrain(study, args.method, args.seeds, args.results)
    moved = set_aside(runs, args.results) if args.yes else {}
    for one in runs:
        finished = RunPaths(args.results / "runs" / one.address if not moved else moved[one.address]).record.is_file()
        reason = "" if args.method in (one.method, one.directory) else f", starts from {args.method}"
        place = f"  moved to {moved[one.address]}" if moved else ""
        print(f"{one.address} ({'finished' if finished else 'not finished'}{reason}){place}")
    count = f"{len(runs)} run{'s' if len(runs) > 1 else ''}"
    if moved:
        print(
            f"next: mdnmt run {study.name}, which trains {count}, then translates and scores with them and makes the "
            "tables, figures, claims and the report again; to undo this, move the folders back"
        )
    else:
        print(f"{count} would be set aside and made again, with all that is made from them; --yes does it")
