"""The files that the tables and figures of a study are made from."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from mdnmt.exhibits.figure_request import figure_spec
from mdnmt.exhibits.table_request import table_spec
from mdnmt.studies.result_paths import ResultPaths
from mdnmt.studies.study import Study


def rule_inputs(files: Iterable[Path]) -> list[Path]:
    """Return the rule outputs that contain these files, each once; an analysis is one output, its folder."""
    found = (path.parent if path.parent.name.startswith("analysis-") else path for path in files)
    return list(dict.fromkeys(found))


def shown_files(study: Study, places: ResultPaths) -> list[Path]:
    """Return the files and folders that the study's tables and figures read, each once."""
    specs = [table_spec(study, key, places) for key in study.config.tables]
    files = [path for spec in specs for path in spec.inputs()]
    files += rule_inputs(path for key in study.config.figures for path in figure_spec(study, key, places).inputs())
    return list(dict.fromkeys(files))
