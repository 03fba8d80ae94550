"""Find the runs that a table or figure needs, from the specs that it is made from."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from mdnmt.config.loader import did_you_mean
from mdnmt.errors import ConfigError, DataError
from mdnmt.exhibits import specs
from mdnmt.exhibits.figure_request import figure_spec
from mdnmt.exhibits.table_selection import table_spec
from mdnmt.exhibits.tables.resources import QUANTITIES
from mdnmt.operations.plan.benchmark_paths import name_of
from mdnmt.studies.result_paths import ResultPaths
from mdnmt.studies.study import Study

SPLITS = 3  # cells per domain: training, validation and test sentences


@dataclass(frozen=True)
class RowNeeds:
    """The needs of one row of a table.

    Attributes:
        label: of the row.
        cells: number of cells.
        runs: names of the runs that the cells come from.
        files: the files that the cells are made from.
        missing: why the row cannot be made.
        bundled: folders of the runs that the bundle has.
    """

    label: str
    cells: int
    runs: tuple[str, ...]
    files: tuple[Path, ...]
    missing: str | None
    bundled: frozenset[Path] = frozenset()

    @property
    def is_ready(self) -> bool:
        """Return whether all files that its cells are made from exist or belong to bundled runs."""
        return bool(self.files) and all(
            path.exists() or not self.bundled.isdisjoint(path.parents) for path in self.files
        )


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


def table_needs(study: Study, key: str, places: ResultPaths, bundled: Container[str] = ()) -> TableNeeds:
    """Return the needs of a table; `bundled` are the addresses of runs that the bundle has."""
    task = study.config.tables[key].task
    try:
        spec = table_spec(study, key, places)
    except DataError as error:
        return TableNeeds(key, key, task, (), str(error))
    folders = _folders(study, places)
    there = frozenset(Path(places.run(run)) for run in study.makeable(task) if run.address in bundled)
    of_row: dict[str, list[str]] = {}
    for run in study.runs_of(task):
        of_row.setdefault(run.directory, []).append(name_of(run))
    rows = []
    for row in _rows(spec):
        paths = tuple(_paths(row))
        # Look runs up by method as well, because a run that cannot be made has no paths.
        runs = tuple(
            dict.fromkeys((*of_row.get(getattr(row, "method", "").partition("@")[0], ()), *_runs(paths, folders)))
        )
        if isinstance(spec, specs.ResourceTableSpec):
            # Time and memory are measured once per method, with its first seed.
            paths = (*paths, *_paths(spec.measure))
            runs = runs[:1]
        rows.append(RowNeeds(row.label, _cells(spec), runs, paths, row.missing, there))
    return TableNeeds(key, spec.title, task, tuple(rows))


def figure_runs(study: Study, key: str, places: ResultPaths) -> tuple[str, ...]:
    """Return the names of the runs that a figure is drawn from."""
    return _runs(_paths(figure_spec(study, key, places)), _folders(study, places))


def _folders(study: Study, places: ResultPaths) -> dict[Path, str]:
    return {Path(places.run(run)): name_of(run) for run in study.makeable()}


def _rows(spec: specs.AnyTable) -> tuple[Any, ...]:
    """Return the rows or systems of a table, each with a label and either files or a reason why there are none."""
    if isinstance(spec, specs.NotationTableSpec):
        return ()
    return spec.systems if isinstance(spec, specs.ExamplesTableSpec) else spec.rows


def _cells(spec: specs.AnyTable) -> int:
    """Return the number of cells of a row."""
    if isinstance(spec, specs.ScoreTableSpec):
        columns = (1 if spec.shows == "average" else len(spec.columns) + 1) + spec.development
        return columns * len(spec.metrics)
    if isinstance(spec, specs.CorporaTableSpec):
        return SPLITS
    return len(QUANTITIES) if isinstance(spec, specs.ResourceTableSpec) else 1


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
