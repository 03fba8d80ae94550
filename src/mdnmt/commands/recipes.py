"""Write the recipe of every row of a study beside the papers' (docs/recipes.md)."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    parser.add_argument("study", nargs="?", default="paper", help="a study with recipes (default: %(default)s)")
    parser.add_argument("--folder", type=Path, default=Path(), help="the project's folder (default: the current one)")
    parser.add_argument("--out", type=Path, default=Path("docs/recipes.md"), help="(default: %(default)s)")


def run(args: argparse.Namespace) -> None:
    """Write the page."""
    from mdnmt.errors import ConfigError
    from mdnmt.fsio import write_text
    from mdnmt.operations.recipes_page import recipes_page
    from mdnmt.studies.resolve import resolve

    study = resolve(args.folder / "config", args.study, args.folder / "resources/corpora")
    if not study.config.use_recipes:
        raise ConfigError(f"study {study.name}: found use_recipes: false, expected a study with the papers' recipes")
    write_text(args.out, recipes_page(study))
