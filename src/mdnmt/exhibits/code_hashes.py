"""Hash the code that the outputs of cheap stages depend on; the workflow passes the hashes as params.

If code changes, exactly the outputs that depend on it are made again. Expensive stages (training, decoding, COMET,
analyses of models) have a number in `mdnmt.fingerprint.STAGE_VERSIONS` instead.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

from mdnmt.code_hash import code_hash
from mdnmt.config.claims import rule_modules
from mdnmt.exhibits.number_sources import number_sources
from mdnmt.exhibits.registry import figure_code, table_code
from mdnmt.exhibits.request import paper_figure, paper_table
from mdnmt.exhibits.run_notes import Name, notes_on
from mdnmt.exhibits.shown_files import shown_files
from mdnmt.exhibits.table_request import table_spec
from mdnmt.fsio import RECORD
from mdnmt.plugin_kinds import METRIC
from mdnmt.plugins import find_all, module_of
from mdnmt.studies.result_paths import ResultPaths
from mdnmt.studies.study import Study

# These are loaded by name when a corpus is read, which no cheap stage does.
NOT_RUN = ("mdnmt.corpora.readers",)

# What `mdnmt exhibit` makes -> the module that writes it; tables and figures have one for each kind.
WRITERS = {
    "claims": "mdnmt.statements.claims.write_claims",
    "numbers": "mdnmt.exhibits.write_numbers",
    "report": "mdnmt.report.report_page",
    "runs": "mdnmt.report.runs_table",
    "significance": "mdnmt.score.significance.compare_systems",
}


def code_of(made: str, *chosen: str) -> str:
    """Return the hash of the code that writes an exhibit, or that a verb runs (`_` for `-` in its name).

    Args:
        made: the exhibit or verb.
        chosen: further modules that are run, which the configuration names.
    """
    metrics = [module_of(plugin.name, "") for plugin in find_all(METRIC)]
    return code_hash(WRITERS.get(made, f"mdnmt.commands.{made}"), *metrics, *chosen, chosen_from=NOT_RUN)


def code_of_page(made: str, study: Study, places: ResultPaths) -> str:
    """Return the hash of the code that writes an exhibit, and of the notes on all that the study shows."""
    notes = study.once(("notes", places), lambda: study_notes(study, places))
    rules = rule_modules(claim for of_paper in study.claims.values() for claim in of_paper.values())
    return _with(code_of(made, *(rules if made == "claims" else ())), notes)


def code_of_table(study: Study, key: str, places: ResultPaths) -> str:
    """Return the hash of the code that makes a table of the study, and of the notes on what it is made from."""
    notes = notes_on(table_spec(study, key, places).inputs())
    return _with(table_code(paper_table(study, key)[0].kind), notes)


def _with(code: str, notes: Iterable[str]) -> str:
    # The notes depend on the code here, which no input file of a rule shows.
    text = "\n".join(notes)
    return f"{code} {hashlib.sha256(text.encode()).hexdigest()[:16]}" if text else code


def study_notes(study: Study, places: ResultPaths) -> list[str]:
    """Return the notes on all that a study shows."""
    several = len(study.tasks) > 1
    names = {
        Path(places.run(run)): Name(f"{run.label} ({run.task})" if several else run.label, run.seed)
        for run in study.makeable()
    }
    shown = shown_files(study, places)
    shown += [source.path for source in number_sources(study, places).sources if source.exhibit is None]
    translated = [Path(places.test(run), "hyp") for run in study.makeable()]
    return notes_on([*(folder / RECORD for folder in names), *translated, *shown], names)


def code_of_figure(study: Study, key: str) -> str:
    """Return the hash of the code that makes a figure of the study."""
    return figure_code(paper_figure(study, key)[0].kind)
