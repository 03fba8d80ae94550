"""Commands that do one step for all runs of a study in one process, for runs shorter than the start of Python."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from mdnmt.exhibits.figure_request import figure_spec
from mdnmt.exhibits.rule_inputs import rule_inputs, table_files
from mdnmt.exhibits.table_selection import paper_table, table_runs, table_spec
from mdnmt.score.metrics.comet_files import TOY
from mdnmt.studies.label_conditions import translations_of
from mdnmt.studies.result_paths import ResultPaths
from mdnmt.studies.study import Run, Study

FIGURE_KINDS = ("png", "pdf", "json")
TABLE_KINDS = {"csv": "csv", "markdown": "md", "latex": "tex", "html": "html", "json": "json"}  # option -> file's end


def comet_runs(study: Study, places: ResultPaths) -> dict[str, Run]:
    """Return file of scores -> run, for all COMET that the study's tables show; nothing where COMET cannot score."""
    keys = [key for key in study.config.tables if "comet" in paper_table(study, key)[0].metrics]
    return {} if study.no_comet else {places.comet(run): run for key in keys for run in table_runs(study, key)}


def validation_runs(study: Study, places: ResultPaths) -> dict[str, Run]:
    """Return file of scores -> run, for all validation sets that the study's tables show."""
    runs = (one for run in study.makeable() for one in translations_of(study, run) if one.split == "valid")
    return {f"{places.test(run)}/scores.json": run for run in runs}


def analysed_runs(study: Study, places: ResultPaths) -> dict[str, Run]:
    """Return folder of analyses -> run, for all that the study's figures show."""
    shown = set(map(str, figure_parts(study, places)))
    return {folder: run for run in study.makeable() if (folder := places.analysis(run)) in shown}


def figure_parts(study: Study, places: ResultPaths) -> list[Path]:
    """Return the files and folders that the study's figures are made of."""
    return rule_inputs(path for key in study.config.figures for path in figure_spec(study, key, places).inputs())


def table_parts(study: Study, places: ResultPaths) -> list[Path]:
    """Return the files that the study's tables are made of."""
    parts = (path for key in study.config.tables for path in table_files(table_spec(study, key, places)))
    return list(dict.fromkeys(parts))


def comet_verbs(
    study: Study, runs: Mapping[str, Run], places: ResultPaths, runtime_options: Sequence[str], toy: str
) -> str:
    """Return the words of one command, a line each: `mdnmt comet` of each run, one after the other.

    A toy of COMET's weights, where the study scores by one, is made first: its library takes seconds to be imported.

    Args:
        study: the study.
        runs: file of scores -> run.
        places: the paths.
        runtime_options: options that change no result.
        toy: folder of the toy.
    """
    spec = study.comet.model_dump_json()
    commands = [["comet", "--make-toy", toy]] if study.comet.name == TOY else []
    for scores, run in runs.items():
        data = ["--task", places.task(run.task), "--hypotheses", f"{places.test(run)}/hyp", "--out", scores]
        commands.append(["comet", *data, "--spec", spec, *study.limit_of(run.task), *runtime_options])
    return _chained(commands)


def validation_verbs(study: Study, runs: Mapping[str, Run], places: ResultPaths, runtime_options: Sequence[str]) -> str:
    """Return the same of `mdnmt decode` and `mdnmt score` on validation sets; `runs`: file of scores -> run."""
    commands = list[list[str]]()
    for scores, run in runs.items():
        data = ["--task", places.task(run.task), "--split", run.split]
        hypotheses, spec = f"{places.test(run)}/hyp", study.decoding_of(run).model_dump_json()
        commands.append(
            ["decode", "--run", places.run(run), *data, "--spec", spec, "--out", hypotheses, *runtime_options]
        )
        commands.append(["score", *data, "--hypotheses", hypotheses, *study.limit_of(run.task), "--out", scores])
    return _chained(commands)


def analysis_verbs(study: Study, runs: Mapping[str, Run], places: ResultPaths, runtime_options: Sequence[str]) -> str:
    """Return the same of `mdnmt analyse`; `runs`: folder of analyses -> run."""
    spec = study.config.analysis.model_dump_json()
    commands = list[list[str]]()
    for folder, run in runs.items():
        data = ["--run", places.run(run), "--task", places.task(run.task), "--out", folder]
        commands.append(["analyse", *data, "--spec", spec, *runtime_options])
    return _chained(commands)


def figure_verbs(study: Study, places: ResultPaths) -> str:
    """Return the same of `mdnmt figure`, of all figures of the study."""
    commands = list[list[str]]()
    for key in study.config.figures:
        files = [word for kind in FIGURE_KINDS for word in (f"--{kind}", places.figure(key, kind))]
        commands.append(["figure", "--spec", figure_spec(study, key, places).model_dump_json(), *files])
    return _chained(commands)


def table_verbs(study: Study, places: ResultPaths) -> str:
    """Return the same of `mdnmt table`, of all tables of the study."""
    commands = list[list[str]]()
    for key in study.config.tables:
        files = [word for option, kind in TABLE_KINDS.items() for word in (f"--{option}", places.table(key, kind))]
        commands.append(["table", "--spec", table_spec(study, key, places).model_dump_json(), *files])
    return _chained(commands)


def _chained(commands: Iterable[list[str]]) -> str:
    words = [word for command in commands for word in (*command, "then")]
    return "\n".join(words[:-1])
