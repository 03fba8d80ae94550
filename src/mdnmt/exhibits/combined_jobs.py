"""What the exhibits of a whole study are made from, and the command line that scores all its runs with COMET.

Studies with `combine_jobs` make them in one job each: their runs are so small that starting Python takes longer than
the work (`mdnmt campaign` makes the runs themselves).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from mdnmt.exhibits.comparison import table_runs
from mdnmt.exhibits.figure_request import figure_spec
from mdnmt.exhibits.request import paper_table
from mdnmt.exhibits.spec_files import rule_inputs
from mdnmt.exhibits.table_request import table_spec
from mdnmt.studies.result_paths import ResultPaths
from mdnmt.studies.study import Run, Study


def comet_runs(study: Study, places: ResultPaths) -> dict[str, Run]:
    """Return score file -> run for all COMET scores in the study's tables; empty if COMET cannot run."""
    keys = [key for key in study.config.tables if "comet" in paper_table(study, key)[0].metrics]
    return {} if study.no_comet else {places.comet(run): run for key in keys for run in table_runs(study, key)}


def analysed_runs(study: Study, places: ResultPaths) -> dict[str, Run]:
    """Return analysis folder -> run for all analyses in the study's figures."""
    shown = set(map(str, figure_parts(study, places)))
    return {folder: run for run in study.makeable() if (folder := places.analysis(run)) in shown}


def figure_parts(study: Study, places: ResultPaths) -> list[Path]:
    """Return the files and folders that the study's figures read."""
    return rule_inputs(path for key in study.config.figures for path in figure_spec(study, key, places).inputs())


def table_parts(study: Study, places: ResultPaths) -> list[Path]:
    """Return the files that the study's tables read."""
    parts = (path for key in study.config.tables for path in table_spec(study, key, places).inputs())
    return list(dict.fromkeys(parts))


def comet_commands(study: Study, runs: Mapping[str, Run], places: ResultPaths, runtime_options: Sequence[str]) -> str:
    """Return the arguments of one `mdnmt` call that runs `comet` for each run, one argument per line.

    Args:
        study: the study.
        runs: score file -> run.
        places: the paths.
        runtime_options: options that change no result.
    """
    words = list[str]()
    for scores, run in runs.items():
        data = ["--task", places.task(run.task), "--hypotheses", f"{places.test(run)}/hyp", "--out", scores]
        words += ["comet", *data, "--spec", study.comet.model_dump_json(), *study.limit_of(run.task), *runtime_options]
        words.append("then")
    return "\n".join(words[:-1])
