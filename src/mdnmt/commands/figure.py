"""Draw a figure of the papers as PNG and PDF, with what made it in the file, and write its numbers as JSON."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the verb."""
    parser.add_argument("--spec", required=True, help="what the figure shows, as JSON (mdnmt.paper.specs)")
    parser.add_argument("--png", type=Path, help="write a picture here")
    parser.add_argument("--pdf", type=Path, help="write vector graphics here")
    parser.add_argument("--json", type=Path, help="write the numbers that it shows here, of every seed")


def run(args: argparse.Namespace) -> None:
    """Draw the figure once and write every format that was asked for."""
    from mdnmt.paper import figures, specs

    figures.save(specs.parse_figure(args.spec), args.png, args.pdf, args.json)
