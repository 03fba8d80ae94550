"""Write a table of the papers as CSV, Markdown, LaTeX, HTML and JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from mdnmt import fsio, provenance
from mdnmt.exhibits.grid import Grid, Provenance
from mdnmt.exhibits.registry import TableSpec, table_code
from mdnmt.exhibits.run_notes import with_run_notes
from mdnmt.report import render_html, render_latex, render_text

JSON = "json"  # the table itself, which the page and the claims read
# The ending of a file -> what is written to it. CSV is the long form with full precision; HTML is a fragment.
FORMATS: dict[str, Callable[[Grid], str]] = {
    "csv": render_text.to_csv,
    "md": render_text.to_markdown,
    "tex": render_latex.to_latex,
    "html": render_html.to_html,
}


def build(spec: TableSpec) -> Grid:
    """Return a table, with the commit and the code that made it.

    Raises:
        DataError: a file is invalid.
    """
    return spec.build().model_copy(update={"made": Provenance(**provenance.made_by(table_code(spec.kind)))})


def write_table(spec: TableSpec, paths: Mapping[str, Path]) -> None:
    """Build a table and write it.

    Args:
        spec: the table.
        paths: ending of a format, or `json` -> the file to write.

    Raises:
        DataError: a file that it is made from is missing, damaged, or made with other options.
    """
    fsio.require_options(spec.made_with)
    grid = with_run_notes(build(spec), spec)  # not in `build`: `mdnmt verify` compares what it returns
    drawn = [path for ending, path in paths.items() if ending != JSON]
    for ending, path in paths.items():
        if ending != JSON:
            text = render_latex.to_latex(grid, path.stem) if ending == "tex" else FORMATS[ending](grid)
            fsio.write_text(path, text)
    if JSON in paths:
        # The report refuses a table made from other runs, and one whose CSV, Markdown, LaTeX or HTML was edited.
        made_from = [*drawn, *fsio.sealed(spec.inputs())]
        options = spec.model_dump(mode="json")
        fsio.write_sealed(paths[JSON], grid.model_dump(mode="json"), made_from, made_with=options)
