"""Write the study's page: one self-contained HTML file of whatever exists."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the verb."""
    parser.add_argument("--spec", required=True, help="what the page is made of, as JSON (mdnmt.paper.specs)")
    parser.add_argument("--out", type=Path, required=True, help="write the page here")


def run(args: argparse.Namespace) -> None:
    """Build the page and say where it is."""
    from mdnmt import fsio
    from mdnmt.paper import report, specs

    fsio.write_text(args.out, report.render(specs.parse_report(args.spec)))
    print(f"report: {args.out}")
