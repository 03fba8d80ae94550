"""Write a table of the papers as CSV, Markdown, LaTeX, HTML and JSON."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the verb."""
    parser.add_argument("--spec", required=True, help="what the table holds, as JSON (mdnmt.paper.specs)")
    parser.add_argument("--csv", type=Path, help="write long form with full precision here")
    parser.add_argument("--markdown", type=Path, help="write GitHub Markdown here")
    parser.add_argument("--latex", type=Path, help="write LaTeX with booktabs here")
    parser.add_argument("--html", type=Path, help="write an HTML fragment here")
    parser.add_argument("--json", type=Path, help="write the table as the report reads it here")


def run(args: argparse.Namespace) -> None:
    """Build the table and write every format that was asked for."""
    from mdnmt import fsio
    from mdnmt.paper import render, render_html, render_latex, specs, tables
    from mdnmt.studies.inputs import table_files

    spec = specs.parse_table(args.spec)
    grid = tables.build(spec)
    drawn = (
        (args.csv, render.to_csv),
        (args.markdown, render.to_markdown),
        (args.latex, render_latex.to_latex),
        (args.html, render_html.to_html),
    )
    for path, draw in drawn:
        if path is not None:
            fsio.write_text(path, draw(grid))
    if args.json is not None:
        # The page refuses a table of other runs, and one of whose forms was edited.
        forms = [path for path, _ in drawn if path is not None]
        fsio.write_sealed(args.json, grid.model_dump(mode="json"), [*forms, *fsio.sealed(table_files(spec))])
