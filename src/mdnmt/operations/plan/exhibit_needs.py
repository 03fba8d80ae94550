"""Find what a table or figure needs, from the specs that it is made from, and what is not here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from mdnmt.config.loader import did_you_mean
from mdnmt.errors import ConfigError, DataError
from mdnmt.exhibits.figure_request import figure_spec
from mdnmt.exhibits.registry import TableSpec
from mdnmt.exhibits.table_request import table_spec
from mdnmt.exhibits.tables.resources import ResourcesTable
from mdnmt.exhibits.tables.scores import ScoreTable
from mdnmt.exhibits.task_selection import NOT_YET
from mdnmt.operations.plan.benchmark_paths import name_of
from mdnmt.studies.result_paths import ResultPaths
from mdnmt.studies.study import Study, Task


@dataclass(frozen=True)
class RowNeeds:
    """The needs of one row of a table.

    Attributes:
        label: of the row.
        cells: number of cells.
        runs: names of the runs that the cells come from.
        files: the files that the cells are made from.
        absent: why cells cannot be made -> how many of them; a cell may have several reasons.
    """

    label: str
    cells: int
    runs: tuple[str, ...]
    files: tuple[Path, ...]
    absent: dict[str, int]

    @property
    def never(self) -> int:
        """Return the number of cells that cannot be made: all of them, or those of metrics that cannot be computed."""
        return min(self.cells, sum(self.absent.values()))

    @property
    def is_ready(self) -> bool:
        """Return whether all files that its cells are made from exist."""
        return bool(self.files) and all(path.exists() for path in self.files)


@dataclass(frozen=True)
class TableNeeds:
    """The needs of a table of the study."""

    key: str
    title: str
    task: str
    rows: tuple[RowNeeds, ...]
    missing: str | None = None  # why its rows are not known

    @property
    def runs(self) -> tuple[str, ...]:
        """Return the runs of all rows, each once."""
        return tuple(dict.fromkeys(run for row in self.rows for run in row.runs))

    @property
    def cells(self) -> int:
        """Return the number of cells."""
        return sum(row.cells for row in self.rows)


@dataclass(frozen=True)
class Absence:
    """Something that is not here, and what cannot be made without it.

    Attributes:
        reason: what is needed, and how to get it.
        runs: task -> number of its runs.
        cells: table -> number of its cells, and how many it has.
    """

    reason: str
    runs: dict[str, int]
    cells: dict[str, tuple[int, int]]

    def __str__(self) -> str:
        """Return all of it in one line."""
        parts = [f"{number} run{'s' * (number > 1)} of {task}" for task, number in self.runs.items()]
        parts += [f"{number} of {of} cells of {key}" for key, (number, of) in self.cells.items()]
        return f"{', '.join(parts)}: {self.reason}"


def absences(study: Study, tables: Iterable[TableNeeds]) -> list[Absence]:
    """Return what a study and these tables of it lack, each thing once."""
    found: dict[str, Absence] = {}
    for run in study.runs:
        if run.spec is None:
            reason = run.missing or study.tasks[run.task].missing or "no reason is known"
            runs = found.setdefault(reason, Absence(reason, {}, {})).runs
            runs[run.task] = runs.get(run.task, 0) + 1
    for table in tables:
        for reason in dict.fromkeys(reason for row in table.rows for reason in row.absent):
            number = sum(row.absent.get(reason, 0) for row in table.rows)
            found.setdefault(reason, Absence(reason, {}, {})).cells[table.key] = (number, table.cells)
    return list(found.values())


def table_of(tables: tuple[TableNeeds, ...], key: str) -> TableNeeds:
    """Return one of a study's tables.

    Raises:
        ConfigError: there is no such table.
    """
    known = {table.key: table for table in tables}
    if key not in known:
        there = ", ".join(known) or "none"
        raise ConfigError(f"the study has no table {key!r}{did_you_mean(key, known)}; it has: {there}")
    return known[key]


def table_needs(study: Study, key: str, places: ResultPaths) -> TableNeeds:
    """Return the needs of a table."""
    task = study.config.tables[key].task
    try:
        spec = table_spec(study, key, places)
    except DataError as error:
        return TableNeeds(key, key, task, (), str(error))
    folders = _folders(study, places)
    of_row: dict[str, list[str]] = {}
    for run in study.runs_of(task):
        of_row.setdefault(run.directory, []).append(name_of(run))
    rows = []
    for row in spec.needs():
        paths = tuple(_paths(row))
        # Look runs up by method as well, because a run that cannot be made has no paths.
        runs = tuple(
            dict.fromkeys((*of_row.get(getattr(row, "method", "").partition("@")[0], ()), *_runs(paths, folders)))
        )
        if isinstance(spec, ResourcesTable):
            # Time and memory are measured once per method, with its first seed.
            paths = (*paths, *_paths(spec.measure))
            runs = runs[:1]
        rows.append(RowNeeds(row.label, spec.cells_of_row, runs, paths, _absent(spec, row, study.tasks[task])))
    return TableNeeds(key, spec.title, task, tuple(rows))


def figure_runs(study: Study, key: str, places: ResultPaths) -> tuple[str, ...]:
    """Return the names of the runs that a figure is drawn from."""
    return _runs(_paths(figure_spec(study, key, places)), _folders(study, places))


def _folders(study: Study, places: ResultPaths) -> dict[Path, str]:
    return {Path(places.run(run)): name_of(run) for run in study.makeable()}


def _absent(spec: TableSpec, row: Any, task: Task) -> dict[str, int]:
    """Return why cells of a row cannot be made, and how many of them."""
    why = row.missing
    if why == NOT_YET and task.missing:
        why = task.missing
    found = {} if why is None else {why: spec.cells_of_row}
    if isinstance(spec, ScoreTable):
        found |= dict.fromkeys(spec.metric_missing.values(), spec.cells_of_row // len(spec.metrics))
    return found


def _runs(paths: Iterable[Path], folders: dict[Path, str]) -> tuple[str, ...]:
    """Return the names of the runs whose folders contain the paths, each once."""
    found = (folders[folder] for path in paths for folder in (path, *path.parents) if folder in folders)
    return tuple(dict.fromkeys(found))


def _paths(value: Any) -> Iterator[Path]:
    """Yield all paths of a part of a spec."""
    if isinstance(value, Path):
        yield value
    elif isinstance(value, BaseModel):
        for name in type(value).model_fields:
            yield from _paths(getattr(value, name))
    elif isinstance(value, tuple):
        for one in value:
            yield from _paths(one)
