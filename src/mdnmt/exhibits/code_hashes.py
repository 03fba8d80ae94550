"""Hash the code that the outputs of cheap stages depend on; the workflow passes the hashes as params.

If code changes, exactly the outputs that depend on it are made again. Expensive stages (training, decoding, COMET,
analyses of models) have a number in `mdnmt.fingerprint.STAGE_VERSIONS` instead.
"""

from __future__ import annotations

from mdnmt.code_hash import code_hash
from mdnmt.exhibits.figure_request import paper_figure
from mdnmt.exhibits.registry import figure_code, table_code
from mdnmt.exhibits.run_notes import notes_hash
from mdnmt.exhibits.table_selection import paper_table
from mdnmt.studies.result_paths import ResultPaths
from mdnmt.studies.study import Study

# These are loaded by name when a corpus is read, which no cheap stage does.
NOT_RUN = ("mdnmt.corpora.readers",)


def code_of(verb: str) -> str:
    """Return the hash of the code that a verb runs (`_` for `-` in its name)."""
    return code_hash(f"mdnmt.commands.{verb}", chosen_from=NOT_RUN)


def code_of_table(study: Study, key: str, places: ResultPaths) -> str:
    """Return the hash of the code that makes a table of the study, and of the notes on the runs of its task."""
    table, task = paper_table(study, key)
    return _with(table_code(table.kind), notes_hash(study, places, task.name))


def code_of_report(study: Study, places: ResultPaths) -> str:
    """Return the hash of the code that makes the page, and of the notes on the study's runs."""
    return _with(code_of("report"), notes_hash(study, places))


def _with(code: str, notes: str) -> str:
    return f"{code} {notes}" if notes else code


def code_of_figure(study: Study, key: str) -> str:
    """Return the hash of the code that makes a figure of the study."""
    return figure_code(paper_figure(study, key)[0].kind)
