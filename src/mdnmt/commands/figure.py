"""Draw a figure of a paper as PNG and PDF, and write its numbers as JSON."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the verb."""
    parser.add_argument("--spec", required=True, help="what the figure shows, as JSON (mdnmt.exhibits.figures)")
    parser.add_argument("--png", type=Path, help="write a picture here")
    parser.add_argument("--pdf", type=Path, help="write vector graphics here")
    parser.add_argument("--json", type=Path, help="write the numbers that it shows here, of every seed")


def run(args: argparse.Namespace) -> None:
    """Draw the figure once and write every format that was asked for."""
    from mdnmt.exhibits import save_figure
    from mdnmt.exhibits.registry import parse_figure

    save_figure.save(parse_figure(args.spec), args.png, args.pdf, args.json)
