"""What tables and figures select from: a study, a task of it, and the paths of all results."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from mdnmt.config.paper import PaperFigure, PaperTable
from mdnmt.exhibits.rows import Column, ScoreRow, ScoreRun
from mdnmt.exhibits.task_selection import NOT_YET, choice_spec
from mdnmt.fsio import has_options, options_hash
from mdnmt.studies.result_paths import ResultPaths
from mdnmt.studies.study import Run, Study, Task
from mdnmt.studies.study_exhibits import figure_of, table_of


def paper_table(study: Study, key: str) -> tuple[PaperTable, Task]:
    """Return a table of the study, with the rows that the study adds, and the task it is made from."""
    return table_of(study.config, study.papers, key), study.tasks[study.config.tables[key].task]


def paper_figure(study: Study, key: str) -> tuple[PaperFigure, Task]:
    """Return a figure of the study and the task it is made from."""
    return figure_of(study.config, study.papers, key), study.tasks[study.config.figures[key].task]


def identity(spec: BaseModel | Any) -> str:
    """Return a hash of all that an exhibit is made of, as a param of its rule."""
    return options_hash(spec.model_dump(mode="json") if isinstance(spec, BaseModel) else spec)


@dataclass(frozen=True)
class Request:
    """One table or figure of a study.

    Attributes:
        study: the study.
        key: the key in the study.
        task: the task that it is made from.
        places: the paths of the results.
        partial: select only files that exist now.
    """

    study: Study
    key: str
    task: Task
    places: ResultPaths
    partial: bool

    @property
    def task_title(self) -> str:
        """Return the task's title if the study has several tasks, otherwise an empty text."""
        return task_title(self.study, self.task)

    def file(self, path: str, options: str | None = None) -> Path | None:
        """Return a path; if `partial`, None if it is missing or was made with options of another hash."""
        file = Path(path)
        is_there = not self.partial or (file.exists() if options is None else has_options(file, options))
        return file if is_there else None

    def why_missing(self, found: Any, run: Run | None = None) -> str | None:
        """Return why something of the task, or of a run, is not there; None if something was found."""
        return None if found else (run.missing if run else self.task.missing) or NOT_YET

    def file_of_task(self, field: str, path: str, options: dict[str, Any]) -> dict[str, Any]:
        """Return the fields `field`, `made_with` and `missing` of a spec, for a file that a verb makes of the task."""
        expected = options_hash(options)
        file = self.file(path, expected) if self.task.spec is not None else None
        made_with = {str(file): expected} if file else {}
        return {field: file, "made_with": made_with, "missing": self.why_missing(file)}

    def ambiguous_words(self) -> dict[str, Any]:
        """Return the fields `ambiguity`, `made_with` and `missing` of a spec, for the task's ambiguous words."""
        options = choice_spec(self.study, self.task.name, self.places)
        return self.file_of_task("ambiguity", self.places.ambiguity(self.task.name), options)

    def row_of(self, group: str, label: str, runs: list[Run], file: str = "scores.json") -> ScoreRow:
        """Return a system's row with a file of each seed's translations, or the reason why there is none."""
        made = tuple(
            ScoreRun(scores=scores, seed=run.seed)
            for run in runs
            if run.spec is not None and (scores := self.file(f"{self.places.test(run)}/{file}"))
        )
        missing = self.why_missing(made, runs[0])
        return ScoreRow(group=group, label=label, method=runs[0].row, runs=made, missing=missing)


def task_title(study: Study, task: Task) -> str:
    """Return the task's title if the study has several tasks, otherwise an empty text."""
    return task.config.title if len(study.tasks) > 1 else ""


def columns(task: Task, table: PaperTable | None = None) -> tuple[Column, ...]:
    """Return the domains of a task as columns, in the printed order of a table, or else in the task's order."""
    return tuple(
        Column(
            name=name,
            label=task.label(name),
            differs=task.config.domains[name].differs,
            remark=task.config.domains[name].remark,
        )
        for name in _ordered(task, table)
    )


def _ordered(task: Task, table: PaperTable | None) -> list[str]:
    """Return a task's domains in the table's order, followed by those that the table does not have."""
    printed = list(table.printed_columns) if table is not None else []
    printed_names = {name: printed_name(task, name) for name in task.config.domains}
    positions = {name: printed.index(other) for name, other in printed_names.items() if other in printed}
    return sorted(printed_names, key=lambda name: positions.get(name, len(printed)))


def printed_name(task: Task, domain: str) -> str:
    """Return the domain of the paper's own task that a domain is or stands for."""
    return task.config.domains[domain].stands_for or domain


def by_row(runs: Iterable[Run]) -> dict[str, list[Run]]:
    """Return the runs of each row, grouped by directory and label condition, with all their seeds."""
    rows: dict[str, list[Run]] = {}
    for run in runs:
        rows.setdefault(run.row, []).append(run)
    return rows
