"""What a kind of figure selects its numbers from: a study, one of its figures, and the paths of all results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from mdnmt.config.loader import did_you_mean, validate_model
from mdnmt.config.paper import PaperFigure
from mdnmt.errors import ConfigError
from mdnmt.exhibits.baseline_differences import ComparedSystems
from mdnmt.exhibits.distinct_labels import distinct_systems
from mdnmt.exhibits.registry import FigureSpec, figure_class
from mdnmt.exhibits.request import Request, by_row, columns, paper_figure
from mdnmt.exhibits.rows import AnalysedRun, AnalysedSeed, Column, ScoreRow, WordRow
from mdnmt.exhibits.table_request import compared_systems
from mdnmt.studies.result_paths import ResultPaths
from mdnmt.studies.study import Run, Study
from mdnmt.studies.study_exhibits import split_key

Spec = TypeVar("Spec", bound=FigureSpec)


def figure_spec(study: Study, key: str, places: ResultPaths, *, partial: bool = False) -> FigureSpec:
    """Return the spec of one figure.

    Args:
        study: the study.
        key: the figure's key in the study.
        places: the paths of the results.
        partial: select only files that exist now.

    Raises:
        ConfigError: an option of the figure in its paper's YAML is unknown, or its value is not allowed.
    """

    def select() -> FigureSpec:
        figure, task = paper_figure(study, key)
        return figure_class(figure.kind).select(FigureRequest(study, key, task, places, partial, figure))

    return select() if partial else study.once(("figure", key, places), select)  # see `table_spec`


@dataclass(frozen=True)
class FigureRequest(Request):
    """One figure of a study, for `FigureSpec.select`.

    Attributes:
        figure: the figure as its paper's YAML describes it, with the methods that the study wants in it.
    """

    figure: PaperFigure

    @cached_property
    def systems(self) -> list[list[Run]]:
        """Return the runs of each of the figure's systems that the study has, one run per seed."""
        found: list[list[Run]] = []
        for method in self.figure.methods:
            if method in self.study.methods:
                label = self.figure.labels.get(method)
                runs = self.study.runs_of(self.task.name, method)
                found += by_row([replace(run, label=label) for run in runs] if label else runs).values()
        return distinct_systems(found)

    @property
    def domains(self) -> tuple[Column, ...]:
        """Return the domains of the task."""
        return columns(self.task)

    @property
    def domain_of_sentence(self) -> str | None:
        """Return the task's domain for the option `domain`, a domain of the paper; None if the task has none for it."""
        wanted = self.figure.options.get("domain")
        own = (name for name, domain in self.task.config.domains.items() if (domain.stands_for or name) == wanted)
        return next(own, None)

    def make(self, kind: type[Spec], **selected: Any) -> Spec:
        """Return the spec with the fields that `select` found, its titles, and the options of the paper's YAML.

        Raises:
            ConfigError: an option is unknown, or its value is not allowed.
        """
        paper, item = split_key(self.key)
        where, options = f"config/papers/{paper}.yaml: figures.{item}.options", self.figure.options
        for name in options:
            if name not in kind.options:
                known = ", ".join(kind.options) or "none"
                hint = did_you_mean(name, kind.options)
                raise ConfigError(f"{where}: unknown key {name!r}{hint}; kind {self.figure.kind} has: {known}")
        fields = {name: value for name, value in options.items() if name in kind.model_fields}
        titles = {"kind": self.figure.kind, "title": self.figure.title, "task": self.task_title}
        return validate_model({**fields, **titles, **selected}, kind, where)

    def files(self, runs: list[Run], path_of: Callable[[Run], str]) -> list[tuple[Run, Path]]:
        """Return (run, `path_of(run)`) for runs that can be made; if `partial`, only for those whose file exists."""
        found = [(run, self.file(path_of(run))) for run in runs if run.spec is not None]
        return [(run, path) for run, path in found if path is not None]

    def analysed(self) -> tuple[AnalysedRun, ...]:
        """Return the analyses of each system; if the study has none of the systems, one entry that says so."""
        method = self.figure.methods[0]
        absent = AnalysedRun(label=method, missing=f"needs {method}, not part of this study")
        return tuple(self._analysed(runs) for runs in self.systems) or (absent,)

    def _analysed(self, runs: list[Run]) -> AnalysedRun:
        found = self.files(runs, self.places.analysis)
        made = [AnalysedSeed(analysis=folder, seed=run.seed) for run, folder in found]
        given: dict[str, Any] = {"label": runs[0].label, "method": runs[0].directory}
        if not made:
            return AnalysedRun(**given, missing=self.why_missing(made, runs[0]))
        return AnalysedRun(**given, analysis=made[0].analysis, seed=made[0].seed, repeats=tuple(made[1:]))

    @property
    def compared_systems(self) -> tuple[ComparedSystems, ...]:
        """Return what the tables compare that the option `tables` names."""
        return compared_systems(self, self.figure.options.get("tables", ()))

    def score_rows(self, file: str) -> tuple[ScoreRow, ...]:
        """Return a row per system, with one file of each run's test translations, such as scores.json."""
        return tuple(self.row_of("", runs[0].label, runs, file) for runs in self.systems)

    def word_rows(self) -> tuple[WordRow, ...]:
        """Return a row per system, with each run's word counts on generated text (words.json)."""
        return tuple(WordRow(**dict(row)) for row in self.score_rows("words.json"))
