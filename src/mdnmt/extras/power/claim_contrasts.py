"""Find what each claim of a study compares, before anything is trained.

The claims' own rules are applied to tables in which every cell has a different number, so that the two numbers of a
comparison identify its cells. Numbers of figures have no scale before they are measured, so their comparisons are
planned in standard deviations between seeds.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, product
from pathlib import Path
from typing import Any

from mdnmt.config.claims import (
    AgreementRule,
    AnyRule,
    CellsRule,
    Claim,
    LabelsRule,
    MeasureRule,
    NotedRule,
    StarsRule,
    Threshold,
    metrics_of,
    uses,
)
from mdnmt.errors import DataError
from mdnmt.exhibits.grid import Cell, Grid
from mdnmt.exhibits.request import paper_figure
from mdnmt.exhibits.score_files import AVERAGE
from mdnmt.exhibits.table_request import table_spec
from mdnmt.exhibits.tables.scores import ScoreTable
from mdnmt.extras.power.claim_power import CellOfRow, Contrast, Group
from mdnmt.extras.power.seed_spread import Spread
from mdnmt.fsio import write_text
from mdnmt.numbers.rounding import mean
from mdnmt.operations.plan.run_plan import SENTENCES
from mdnmt.statements.claims.decide import comparisons
from mdnmt.statements.claims.selection import claims_spec
from mdnmt.statements.claims.spec import ClaimsSpec
from mdnmt.statements.claims.wording import title_of
from mdnmt.studies.result_paths import ResultPaths
from mdnmt.studies.study import Study

FigureRule = MeasureRule | LabelsRule | AgreementRule


@dataclass(frozen=True)
class Design:
    """A claim as a study can decide it.

    Attributes:
        name: of the claim.
        paper: the paper that makes it.
        says: the claim as a sentence.
        groups: its comparisons; empty if it cannot be decided here.
        rows: <task>/<directory> of the runs that it needs.
        in_points: whether effects are in points of a score; else in standard deviations between seeds.
        why_not: why it cannot be decided here.
    """

    name: str
    paper: str
    says: str
    groups: tuple[Group, ...]
    rows: tuple[str, ...]
    in_points: bool
    why_not: str | None = None


@dataclass(frozen=True)
class _Place:
    """The cell that a placeholder number stands for; `published` is the paper's number."""

    row: str
    name: str
    metric: str
    is_average: bool
    published: float | None


class CannotDecideError(Exception):
    """A rule compares something that this study does not have; the message says what."""


def designs(study: Study, places: ResultPaths, spread: Spread) -> list[Design]:
    """Return all claims of the study's papers, in their order."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for paper in study.claims:
            planner = _Planner(study, paper, places, spread, Path(folder))
            found += [planner.design(name, claim) for name, claim in planner.spec.claims.items()]
    return found


class _Planner:
    """Finds the comparisons of one paper's claims."""

    def __init__(self, study: Study, paper: str, places: ResultPaths, spread: Spread, folder: Path) -> None:
        self.study, self.paper, self.spread = study, paper, spread
        self.cells: list[_Place] = []
        self.families: dict[tuple[str, str], int] = {}
        self.spec = self._placeholders(claims_spec(study, paper, places), places, folder)

    def _placeholders(self, spec: ClaimsSpec, places: ResultPaths, folder: Path) -> ClaimsSpec:
        """Return the spec with each table replaced by one in which every cell has a different number."""
        printed = self.study.as_printed(self.paper)
        tables: dict[str, Path | None] = {}
        missing = dict(spec.missing)
        for item in spec.tables:
            key = spec.key(item)
            try:
                found = table_spec(printed, key, places)
            except DataError as error:
                missing[item] = str(error)
                continue
            if not isinstance(found, ScoreTable):
                missing[item] = "measured once, not once per seed"
                continue
            tables[item] = folder / f"{key}.json"
            grid = self._numbered(item, found, self.study.config.tables[key].task)
            write_text(folder / f"{key}.json", grid.model_dump_json())
        return spec.model_copy(update={"tables": tables, "missing": missing, "made_with": {}})

    def _numbered(self, item: str, spec: ScoreTable, task: str) -> Grid:
        made = {row.method for row in spec.rows if row.runs}
        # Without runs, nothing is read, and the first of several alternative rows is shown.
        rows = tuple(row.model_copy(update={"runs": (), "records": ()}) for row in spec.rows)
        files: dict[str, Any] = {"significance": None, "predicted_labels": None, "made_with": {}}
        grid = spec.model_copy(update={"rows": rows, **files}).build()
        numbers: dict[tuple[str, int], float] = {}
        for row in grid.rows:
            for place, (header, cell) in enumerate(zip(grid.headers, row.cells, strict=True)):
                if row.method in made and header.metric not in spec.metric_missing:
                    runs, name = f"{task}/{row.method.partition('@')[0]}", f"{task}/{row.method}/{header.metric}"
                    is_average, published = header.key == AVERAGE, cell.published
                    if is_average and published is None:  # take the mean of the printed domains
                        both = zip(grid.headers, row.cells, strict=True)
                        of_row = [one.published for head, one in both if head.metric == header.metric]
                        known = [number for number in of_row if number is not None]
                        published = mean(known) if known else None
                    self.cells.append(_Place(runs, f"{name}/{header.key}", header.metric, is_average, published))
                    numbers[row.method, place] = float(len(self.cells) - 1)
        shown = []
        for row in grid.rows:
            cells = list(row.cells)
            for place in range(len(cells)):
                base = numbers.get((grid.baseline or "", place))
                if (number := numbers.get((row.method, place))) is not None:
                    delta = None if base is None else number - base
                    cells[place] = Cell(mean=number, num_seeds=1, p=1.0, delta=delta)
            marks = {"marks": ()} if row.method in made else {}
            shown.append(row.model_copy(update={"cells": tuple(cells), **marks}))
        for metric in spec.metrics:
            domains = sum(header.metric == metric and header.key != AVERAGE for header in grid.headers)
            self.families[item, metric] = max(1, domains * (len(made) - 1))
        return grid.model_copy(update={"rows": tuple(shown), "correction": "holm"})

    def design(self, name: str, claim: Claim) -> Design:
        """Return what a claim compares, or why it cannot be decided here."""
        groups: list[Group] = []
        rows: list[str] = []
        in_points = all(isinstance(rule, CellsRule | StarsRule | NotedRule) for rule in claim.rules)
        try:
            for rule in claim.rules:
                of_rule: dict[str, list[Contrast]] = {}
                for group, contrast, needs in self._contrasts(rule):
                    of_rule.setdefault(group, []).append(contrast)
                    rows += needs
                needed = "all" if isinstance(rule, NotedRule) else rule.needed
                refuting = len(claim.rules) * len(of_rule)
                groups += [Group(needed, tuple(found), refuting) for found in of_rule.values()]
        except CannotDecideError as error:
            return Design(name, self.paper, claim.says, (), (), in_points, str(error))
        return Design(name, self.paper, claim.says, tuple(groups), tuple(dict.fromkeys(rows)), in_points)

    def _contrasts(self, rule: AnyRule) -> Iterator[tuple[str, Contrast, list[str]]]:
        """Yield (group, comparison, rows that it needs).

        Raises:
            CannotDecideError: something that the rule compares is not part of the study.
        """
        if isinstance(rule, NotedRule):
            raise CannotDecideError(rule.why)
        if isinstance(rule, Threshold) and rule.not_tested is not None:
            raise CannotDecideError(f"not tested: {rule.not_tested}")
        if not isinstance(rule, CellsRule | StarsRule):
            yield from self._of_figure(rule)
            return
        found = list(comparisons(rule, self.spec))
        missing = [one.missing for one in found if one.missing is not None]
        if missing and (rule.needed != "one" or len(missing) == len(found)):
            raise CannotDecideError(f"needs {missing[0]}")
        for one in found:
            if one.left is None or one.right is None:
                continue
            left, right = (self.cells[round(number)] for number in (one.left, one.right))
            cells = self._cell(left), self._cell(right)
            times = rule.times if isinstance(rule, CellsRule) else 1.0
            printed = None
            if left.published is not None and right.published is not None:
                printed = left.published - times * right.published
            if isinstance(rule, CellsRule):
                side, bound = rule.bound
                contrast = Contrast(*cells, side, bound, times, printed)
            else:
                task, metric = left.row.partition("/")[0], left.metric
                sentence_sd = self.spread.sentence_sd(metric, self._sentences(task))
                family = self.families[rule.table, metric]
                contrast = Contrast(*cells, printed=printed, sentence_sd=sentence_sd, family=family)
            yield one.group, contrast, [left.row, right.row]

    def _cell(self, place: _Place) -> CellOfRow:
        task = place.row.partition("/")[0]
        sd = self.spread.seed_sd(task, place.metric, place.is_average, self._sentences(task))
        if sd is None:
            raise CannotDecideError(
                f"the spread of {place.metric} between seeds is not known; train two seeds of a row"
            )
        return CellOfRow(place.name, place.row, sd)

    def _sentences(self, task: str) -> int:
        limit = self.study.decoding[task].max_sentences
        return min(
            min(one.test or SENTENCES, limit or one.test or SENTENCES)
            for one in self.study.tasks[task].config.domains.values()
        )

    def _of_figure(self, rule: FigureRule) -> Iterator[tuple[str, Contrast, list[str]]]:
        """Yield comparisons in standard deviations; layers and sides are known only once the figure is made."""
        rows: list[str] = []
        if "comet" in metrics_of(rule) and self.study.no_comet:
            raise CannotDecideError(self.study.no_comet)
        for kind, item, methods in uses(rule):
            key = self.spec.key(item)
            there = self.spec.figures if kind == "figures" else self.spec.tables
            if item not in there:
                raise CannotDecideError(f"needs {title_of(item)} ({self.spec.why_missing(item)})")
            shown = self.study.config.figures if kind == "figures" else self.study.config.tables
            task = shown[key].task
            if not methods and kind == "figures":
                methods = paper_figure(self.study, key)[0].methods
            for method in methods:
                names = self.spec.names(item, method)
                found = [run.directory for run in self.study.makeable(task) if run.method in names]
                if not found:
                    raise CannotDecideError(f"needs {method} in {title_of(item)}")
                rows += [f"{task}/{directory}" for directory in found]
        rows = list(dict.fromkeys(rows))
        for pair in _sides(rule):
            cells = [CellOfRow(name, rows[0], 1.0) for name in pair]
            yield "", Contrast(cells[0], cells[1] if len(cells) > 1 else None), rows


def _sides(rule: FigureRule) -> Iterator[tuple[str, ...]]:
    """Yield the names of the two sides of each comparison; a single one is compared with the threshold."""
    if isinstance(rule, MeasureRule):
        for method in rule.methods or ("all systems",):
            left = f"{method} {rule.name} {rule.at}"
            if rule.than is None:
                yield (left,)
                continue
            for other in rule.than.methods or (method,):
                if rule.methods and other == method and rule.than.figure in (None, rule.figure):
                    yield (f"{left} {rule.than}",)  # of the same models: the seeds' differences are one sample
                    continue
                yield left, f"{other} {rule.than.name or rule.name} {rule.than.figure} {rule.than.at}"
    elif isinstance(rule, AgreementRule):
        yield from ((f"{one} {other}",) for one, other in combinations(rule.metrics, 2))
    else:
        for method, labels, metric in product(rule.rows, rule.labels, rule.metrics):
            left = f"{method} {labels} {metric}"
            yield from ((left, f"{other} {labels} {metric}") for other in rule.than)
            if not rule.than:
                yield (left,)
