"""Find what each claim of a study compares, before anything is trained.

The rules of claims name the cells that they compare from the rows and columns of tables alone. Numbers of figures have
no scale before they are measured, so their comparisons are planned in standard deviations between seeds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from mdnmt.config.claim_rule import Rule
from mdnmt.config.claims import Claim
from mdnmt.errors import DataError
from mdnmt.exhibits.grid import GridRow
from mdnmt.exhibits.request import paper_figure
from mdnmt.exhibits.seed_scores import AVERAGE
from mdnmt.exhibits.table_request import table_spec
from mdnmt.exhibits.tables.scores import ScoreTable
from mdnmt.extras.power.claim_power import CellOfRow, Contrast, Group
from mdnmt.extras.power.seed_spread import Spread
from mdnmt.numbers.rounding import mean
from mdnmt.operations.plan.run_plan import SENTENCES
from mdnmt.statements.claims.evidence import Evidence, Pair, Place, Table
from mdnmt.statements.claims.outcome import Comparison
from mdnmt.statements.claims.selection import claims_spec
from mdnmt.statements.claims.wording import title_of
from mdnmt.studies.result_paths import ResultPaths
from mdnmt.studies.study import COPY, Study


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
class PlannedTable(Table):
    """A table of scores before its runs: its rows and columns without numbers.

    Attributes:
        task: of the study.
        made: the methods whose runs can be made.
        missing: metric -> why no run will have it.
    """

    task: str
    made: frozenset[str]
    missing: dict[str, str]

    def _has(self, metric: str) -> bool:
        return bool(self.made) and metric not in self.missing and any(h.metric == metric for h in self.grid.headers)

    def has_cell(self, row: GridRow, metric: str, key: str) -> bool:
        """Say whether a run will give the cell a number."""
        metric = self.measured(metric)
        columns = ((header.metric, header.key) for header in self.grid.headers)
        return row.method in self.made and metric not in self.missing and (metric, key) in columns

    def published(self, row: GridRow, metric: str, key: str) -> float | None:
        """Return the printed number; for an average that is not printed, the mean of the printed domains."""
        number = super().published(row, metric, key)
        if number is not None or key != AVERAGE:
            return number
        metric = self.measured(metric)
        of_row = zip(self.grid.headers, row.cells, strict=True)
        known = [cell.published for header, cell in of_row if header.metric == metric and cell.published is not None]
        return mean(known) if known else None

    def family(self, metric: str) -> int:
        """Return how many cells of a metric are compared with the baseline."""
        domains = sum(header.metric == metric and header.key != AVERAGE for header in self.grid.headers)
        return max(1, domains * (len(self.made - {COPY}) - 1))  # the copied source is not tested


class PlannedEvidence(Evidence):
    """The tables of a study before anything is trained."""

    def __init__(self, study: Study, paper: str, places: ResultPaths) -> None:
        spec = claims_spec(study, paper, places)
        printed = study.as_printed(paper)
        self.planned: dict[str, PlannedTable] = {}
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
            made = frozenset(row.method for row in found.rows if row.runs)
            # Without runs, nothing is read, and the first of several alternative rows is shown.
            rows = tuple(row.model_copy(update={"runs": (), "records": (), "models": {}}) for row in found.rows)
            files: dict[str, Any] = {"significance": None, "predicted_labels": None, "made_with": {}}
            grid = found.model_copy(update={"rows": rows, **files}).build()
            task = study.config.tables[key].task
            self.planned[item] = PlannedTable(item, grid, spec, task, made, found.metric_missing)
        super().__init__(spec.model_copy(update={"missing": missing}))

    def table(self, exhibit: str) -> PlannedTable | None:
        """Return a table without numbers, or None if the study does not make it."""
        return self.planned.get(exhibit)


class CannotDecideError(Exception):
    """A rule compares something that this study does not have; the message says what."""


def designs(study: Study, places: ResultPaths, spread: Spread) -> list[Design]:
    """Return all claims of the study's papers, in their order."""
    found = []
    for paper in study.claims:
        planner = _Planner(study, paper, places, spread)
        found += [planner.design(name, claim) for name, claim in planner.spec.claims.items()]
    return found


class _Planner:
    """Finds the comparisons of one paper's claims."""

    def __init__(self, study: Study, paper: str, places: ResultPaths, spread: Spread) -> None:
        self.study, self.paper, self.spread = study, paper, spread
        self.evidence = PlannedEvidence(study, paper, places)
        self.spec = self.evidence.spec

    def design(self, name: str, claim: Claim) -> Design:
        """Return what a claim compares, or why it cannot be decided here."""
        groups: list[Group] = []
        rows: list[str] = []
        in_points = all(rule.never or rule.pairs(self.evidence) is not None for rule in claim.rules)
        try:
            for rule in claim.rules:
                of_rule: dict[str, list[Contrast]] = {}
                for group, contrast, needs in self._contrasts(rule):
                    of_rule.setdefault(group, []).append(contrast)
                    rows += needs
                refuting = len(claim.rules) * len(of_rule)
                groups += [Group(rule.needed, tuple(found), refuting) for found in of_rule.values()]
        except CannotDecideError as error:
            return Design(name, self.paper, claim.says, (), (), in_points, str(error))
        return Design(name, self.paper, claim.says, tuple(groups), tuple(dict.fromkeys(rows)), in_points)

    def _contrasts(self, rule: Rule) -> Iterator[tuple[str, Contrast, list[str]]]:
        """Yield (group, comparison, rows that it needs).

        Raises:
            CannotDecideError: something that the rule compares is not part of the study.
        """
        if why := rule.never or (rule.not_tested and f"not tested: {rule.not_tested}"):
            raise CannotDecideError(why)
        pairs = rule.pairs(self.evidence)
        if pairs is None:
            yield from self._of_figure(rule)
            return
        found = [self._missing(one) or one for one in pairs]
        missing = [one.missing for one in found if isinstance(one, Comparison)]
        if missing and (rule.needed != "one" or len(missing) == len(found)):
            raise CannotDecideError(f"needs {missing[0]}")
        for one in found:
            if isinstance(one, Pair):
                contrast = self._contrast(one)
                yield one.group, contrast, [cell.row for cell in (contrast.left, contrast.right) if cell is not None]

    def _contrast(self, pair: Pair) -> Contrast:
        table = self._table(pair.left)
        metric = table.measured(pair.left.metric)
        cells = self._cell(pair.left), self._cell(pair.right)
        ours, theirs = pair.left.published, pair.right.published
        printed = None if ours is None or theirs is None else ours - pair.times * theirs
        if pair.bound is not None:
            return Contrast(*cells, *pair.bound, pair.times, printed)
        sentence_sd = self.spread.sentence_sd(metric, self._sentences(table.task))
        return Contrast(*cells, printed=printed, sentence_sd=sentence_sd, family=table.family(metric))

    def _missing(self, one: Pair | Comparison) -> Comparison | None:
        """Return what a pair lacks that no run will make; None: nothing."""
        if isinstance(one, Comparison):
            return one
        places = (one.left, one.right)
        return next((place.lacks for place in places if not self._table(place).has_cell(*place[1:])), None)

    def _table(self, place: Place) -> PlannedTable:
        return self.evidence.planned[place.table.exhibit]

    def _cell(self, place: Place) -> CellOfRow:
        table = self._table(place)
        metric = table.measured(place.metric)
        sd = self.spread.seed_sd(table.task, metric, place.key == AVERAGE, self._sentences(table.task))
        if sd is None:
            raise CannotDecideError(f"the spread of {metric} between seeds is not known; train two seeds of a row")
        row = f"{table.task}/{place.row.method}"
        return CellOfRow(f"{row}/{metric}/{place.key}", row.partition("@")[0], sd)

    def _sentences(self, task: str) -> int:
        limit = self.study.decoding[task].max_sentences
        return min(
            min(one.test or SENTENCES, limit or one.test or SENTENCES)
            for one in self.study.tasks[task].config.domains.values()
        )

    def _of_figure(self, rule: Rule) -> Iterator[tuple[str, Contrast, list[str]]]:
        """Yield comparisons in standard deviations; layers and sides are known only once the figure is made."""
        rows: list[str] = []
        for use in rule.uses():
            if "comet" in use.metrics and self.study.no_comet:
                raise CannotDecideError(self.study.no_comet)
            is_figure, key = use.folder == "figures", self.spec.key(use.exhibit)
            if use.exhibit not in (self.spec.figures if is_figure else self.spec.tables):
                raise CannotDecideError(f"needs {title_of(use.exhibit)} ({self.spec.why_missing(use.exhibit)})")
            task = (self.study.config.figures if is_figure else self.study.config.tables)[key].task
            methods = use.methods
            if not methods and is_figure:
                methods = paper_figure(self.study, key)[0].methods
            for method in methods:
                names = self.spec.names(use.exhibit, method)
                found = [run.directory for run in self.study.makeable(task) if run.method in names]
                if not found:
                    raise CannotDecideError(f"needs {method} in {title_of(use.exhibit)}")
                rows += [f"{task}/{directory}" for directory in found]
        rows = list(dict.fromkeys(rows))
        for pair in rule.sides():
            cells = [CellOfRow(name, rows[0], 1.0) for name in pair]
            yield "", Contrast(cells[0], cells[1] if len(cells) > 1 else None), rows
