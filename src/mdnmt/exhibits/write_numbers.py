"""Collect every number of a study's tables and figures in one tidy table, numbers.csv."""

from __future__ import annotations

from pathlib import Path

from mdnmt.exhibits.run_notes import notes_on
from mdnmt.numbers import table
from mdnmt.numbers.sources import NumberSources, shown_source


def write_numbers(study: str, spec: NumberSources, folder: Path) -> None:
    """Read all files and write the table, with a note on rows that other code made, and its seal.

    Args:
        study: its name.
        spec: the files to read.
        folder: the folder of the study's results.

    Raises:
        DataError: a file is missing, damaged, or not of its kind.
    """
    notes = {shown_source(source): " ".join(notes_on([source.path])) for source in spec.sources}
    table.write(folder, study, table.collect(spec.sources), [source.path for source in spec.sources], notes)
