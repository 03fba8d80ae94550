"""Make the specs of the verbs `measure` and `ambiguity` for a task of a study; both write one file for each task."""

from __future__ import annotations

from typing import Any

from mdnmt.config.paper import PaperTable
from mdnmt.exhibits.headings import is_of_pair
from mdnmt.exhibits.registry import figure_class, table_class
from mdnmt.studies.result_paths import ResultPaths
from mdnmt.studies.study import Run, Study
from mdnmt.studies.study_exhibits import figure_of, table_of

NOT_YET = "not made yet"


def measured_runs(study: Study, task: str) -> list[Run]:
    """Return the runs whose resources are measured: the first seed of each method, and of each domain trained alone."""
    tables = _tables(study, task)
    wanted = {name for table in tables if table.kind == "resources" for row in table.rows for name in row.methods}
    first: dict[str, Run] = {}
    for run in study.makeable(task):
        first.setdefault(run.row, run)
    return [run for run in first.values() if run.method in wanted]


def measure_options(study: Study, task: str, places: ResultPaths) -> dict[str, Any]:
    """Return the options of the verb `measure`: what is measured, and how."""
    return {
        "runs": {run.directory: places.run(run) for run in measured_runs(study, task)},
        "decoding": study.decoding[task].model_dump(mode="json"),
        "repeats": study.config.measure_repeats,
    }


def ambiguous_systems(study: Study, task: str) -> list[Run]:
    """Return the runs whose ambiguous words are counted: those in figures and tables made from a task."""
    shown = [key for key, figure in study.config.figures.items() if figure.task == task]
    figures = [figure_of(study.config, study.papers, key) for key in shown]
    wanted = [name for figure in figures if figure_class(figure.kind).reads_ambiguous_words for name in figure.methods]
    tables = _tables(study, task)
    reading = [table for table in tables if table_class(table.kind).reads_ambiguous_words]
    wanted += [name for table in reading for row in table.rows for name in row.methods]
    return [run for method in dict.fromkeys(wanted) for run in study.makeable(task) if run.method == method]


def choice_spec(study: Study, task: str, places: ResultPaths) -> dict[str, Any]:
    """Return the spec of the verb `ambiguity`: whose translations it reads, and the words that tables ask for."""
    systems = [
        {"method": run.directory, "label": run.label, "seed": run.seed, "folder": f"{places.test(run)}/hyp"}
        for run in ambiguous_systems(study, task)
    ]
    tables = _tables(study, task)
    config = study.tasks[task].config
    words = dict.fromkeys(word for table in tables if is_of_pair(table, config) for word in table.words)
    return {"systems": systems, **({"words": list(words)} if words else {})}


def _tables(study: Study, task: str) -> list[PaperTable]:
    """Return the tables of a study that are made from a task."""
    shown = [key for key, table in study.config.tables.items() if table.task == task]
    return [table_of(study.config, study.papers, key) for key in shown]
