"""Collect every number of a study's tables and figures in one tidy table, numbers.csv."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the verb."""
    parser.add_argument("--study", required=True, help="name of the study")
    parser.add_argument("--spec", required=True, help="the files to read, as JSON (mdnmt.numbers.sources)")
    parser.add_argument("--out", type=Path, required=True, help="folder of the study's results")


def run(args: argparse.Namespace) -> None:
    """Read all files and write the table and its seal."""
    from mdnmt.config.loader import parse_spec
    from mdnmt.exhibits.run_notes import notes_on
    from mdnmt.numbers import table
    from mdnmt.numbers.sources import NumberSources, shown_source

    sources = parse_spec(args.spec, NumberSources).sources
    notes = {shown_source(source): " ".join(notes_on([source.path])) for source in sources}
    table.write(args.out, args.study, table.collect(sources), [source.path for source in sources], notes)
