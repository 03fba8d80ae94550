"""Write a table of the papers as CSV, Markdown, LaTeX, HTML and JSON."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the verb."""
    parser.add_argument("--spec", required=True, help="the contents of the table, as JSON (mdnmt.exhibits.specs)")
    parser.add_argument("--csv", type=Path, help="write long form with full precision here")
    parser.add_argument("--markdown", type=Path, help="write GitHub Markdown here")
    parser.add_argument("--latex", type=Path, help="write LaTeX with booktabs here")
    parser.add_argument("--html", type=Path, help="write an HTML fragment here")
    parser.add_argument("--json", type=Path, help="write the table here as JSON, for the report")


def run(args: argparse.Namespace) -> None:
    """Build the table and write every format that was asked for."""
    from mdnmt import fsio
    from mdnmt.exhibits import build_table, specs
    from mdnmt.exhibits.run_notes import with_run_notes
    from mdnmt.exhibits.spec_files import table_files
    from mdnmt.report import render_html, render_latex, render_text

    spec = specs.parse_table(args.spec)
    fsio.require_options(spec.made_with)
    grid = with_run_notes(build_table.build(spec), spec)  # not in `build`: `mdnmt verify` compares what it returns
    drawn = (
        (args.csv, render_text.to_csv),
        (args.markdown, render_text.to_markdown),
        (args.latex, render_latex.to_latex),
        (args.html, render_html.to_html),
    )
    for path, draw in drawn:
        if path is not None:
            fsio.write_text(path, draw(grid))
    if args.json is not None:
        # The report refuses a table made from other runs, and one whose CSV, Markdown, LaTeX or HTML was edited.
        forms = [path for path, _ in drawn if path is not None]
        made_from = [*forms, *fsio.sealed(table_files(spec))]
        fsio.write_sealed(args.json, grid.model_dump(mode="json"), made_from, made_with=spec.model_dump(mode="json"))
