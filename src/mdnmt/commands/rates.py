"""Write each method's best learning rate of a sweep, by validation loss."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    parser.add_argument("study", help="a study with `rate_sweep`")
    parser.add_argument("--folder", type=Path, default=Path(), help="the project's folder (default: the current one)")
    parser.add_argument("--results", type=Path, default=Path("results"), help="default: %(default)s")
    parser.add_argument("--out", type=Path, help="default: config/learning-rates/<study>.yaml")


def run(args: argparse.Namespace) -> None:
    """Write the table."""
    from mdnmt.config.learning_rates import FOLDER
    from mdnmt.fsio import write_text
    from mdnmt.studies.resolve import resolve
    from mdnmt.studies.swept_rates import as_yaml, swept_rates

    study = resolve(args.folder / "config", args.study, args.folder / "resources/corpora")
    rates = swept_rates(study, args.results)
    out = args.out or args.folder / "config" / FOLDER / f"{study.name}.yaml"
    write_text(out, as_yaml(rates))
    for method, row in rates.methods.items():
        print(f"{method:<32}{row.learning_rate:g}")
