"""Write each method's best learning rate of a sweep, by validation loss."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    parser.add_argument("study", help="a study with `rate_sweep`")
    parser.add_argument("--folder", type=Path, default=Path(), help="the project's folder (default: the current one)")
    parser.add_argument("--results", type=Path, default=Path("results"), help="default: %(default)s")
    parser.add_argument(
        "--finished",
        action="store_true",
        help="choose for the methods whose runs are all finished here, and keep the table's rows of the others",
    )
    parser.add_argument("--out", type=Path, help="default: config/learning-rates/<study>.yaml")


def run(args: argparse.Namespace) -> None:
    """Write the table."""
    from mdnmt.config.learning_rates import FOLDER, LearningRates
    from mdnmt.config.loader import load_model
    from mdnmt.fsio import write_text
    from mdnmt.studies.resolve import resolve
    from mdnmt.studies.swept_rates import as_yaml, swept_rates

    study = resolve(args.folder / "config", args.study, args.folder / "resources/corpora")
    rates = swept_rates(study, args.results, finished_only=args.finished)
    out = args.out or args.folder / "config" / FOLDER / f"{study.name}.yaml"
    if args.finished and out.exists():
        earlier = load_model(out, LearningRates)
        rates = rates.model_copy(update={"methods": {**earlier.methods, **rates.methods}})
    write_text(out, as_yaml(rates))
    for method, row in rates.methods.items():
        print(f"{method:<32}{row.learning_rate:g}")
