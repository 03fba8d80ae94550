"""Write the study's report: one self-contained HTML file of everything that exists."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the verb."""
    parser.add_argument("--spec", required=True, help="the contents of the report, as JSON (mdnmt.exhibits.specs)")
    parser.add_argument("--out", type=Path, required=True, help="write the report here")


def run(args: argparse.Namespace) -> None:
    """Build the page and say where it is."""
    from mdnmt import fsio
    from mdnmt.exhibits import specs
    from mdnmt.report import report_page

    spec = specs.parse_report(args.spec)
    fsio.require_options(spec.made_with)
    fsio.write_text(args.out, report_page.render(spec))
    print(f"report: {args.out}")
