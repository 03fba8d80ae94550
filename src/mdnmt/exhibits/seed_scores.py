"""Read the scores of a row's runs, and collect what all rows of a table should share: test sets and signatures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mdnmt.config.metrics import METRICS
from mdnmt.errors import DataError
from mdnmt.exhibits.grid import RowRun
from mdnmt.exhibits.rows import Column, ScoreRow, ScoreRun
from mdnmt.numbers.rounding import mean, signed, standard_deviation
from mdnmt.numbers.score_file import DomainScores, read_scores
from mdnmt.welch import half_width

AVERAGE = "avg"  # the key of the average's column
OTHERS = "others"  # the key of the mean score of models of one domain on the other domains
DEVELOPMENT = "dev"  # the key of the column of all validation sets as one text
SPLITS = ("train", "valid", "test")
ABSENT = "-"

Domains = dict[str, DomainScores]


@dataclass(frozen=True)
class Measured:
    """One number of one row: its value for each run, in the order of their seeds (None: nothing was trained)."""

    values: tuple[float, ...]
    seeds: tuple[int | None, ...]

    @property
    def num_seeds(self) -> int:
        """Return how many of the runs were trained."""
        return sum(seed is not None for seed in self.seeds)


def averaged(measured: Iterable[Measured | None]) -> Measured | None:
    """Return the mean of several numbers, seed by seed; None if one is missing or has other seeds."""
    found = list(measured)
    known = [one for one in found if one is not None]
    if not known or len(known) < len(found) or len({one.seeds for one in known}) > 1:
        return None
    return Measured(tuple(mean(values) for values in zip(*(one.values for one in known), strict=True)), known[0].seeds)


def difference(ours: Measured | None, base: Measured | None) -> Measured | None:
    """Return the differences of two systems, seed by seed; None if one is missing or has other seeds."""
    if ours is None or base is None or ours.seeds != base.seeds:
        return None
    return Measured(tuple(a - b for a, b in zip(ours.values, base.values, strict=True)), ours.seeds)


def interval(differences: Measured | None, places: int) -> str | None:
    """Return a mean difference with its 95 % interval over seeds (Student's t); None if nothing can be estimated."""
    spread = standard_deviation(differences.values) if differences is not None else None
    reach = half_width([(spread, len(differences.values))]) if differences is not None and spread else None
    if differences is None or reach is None:
        return None
    middle = mean(differences.values)
    return f"{signed(middle, places)} [{signed(middle - reach, places)}, {signed(middle + reach, places)}]"


def sorted_runs(row: ScoreRow) -> tuple[ScoreRun, ...]:
    """Return the runs of a row in the order of their seeds."""
    return tuple(sorted(row.runs, key=lambda run: -1 if run.seed is None else run.seed))


def row_runs(row: ScoreRow) -> tuple[RowRun, ...]:
    """Return the runs of a row, or the folders of the translations if the system is not trained here."""
    return tuple(
        RowRun(seed=run.seed, folder=(run.scores.parent if part.external else run.scores.parent.parent).as_posix())
        for part in row.parts
        for run in sorted_runs(part)
    )


def _read(run: ScoreRun) -> Domains:
    """Return the scores of a run by domain, including those in separate files."""
    scores = dict(read_scores(run.scores).domains)
    for path in run.others:
        for domain, there in read_scores(path).domains.items():
            here = scores.get(domain)
            if here is None or here.num_sentences != there.num_sentences:
                raise DataError(f"{path}: not of the same sentences of {domain} as {run.scores}; score it again")
            scores[domain] = replace(here, scores={**there.scores, **here.scores})
    return scores


def task_ceilings(folder: Path) -> dict[str, dict[str, float]]:
    """Return domain -> metric -> what a perfect system would score, from the scores of a task's copied source."""
    for path in sorted(folder.glob("copied-*/scores.json")):
        return {name: dict(of.ceiling) for name, of in read_scores(path).domains.items() if of.ceiling}
    return {}


class SharedConditions:
    """What all rows of one table should share: test sets and signatures."""

    def __init__(self, columns: Sequence[Column], metrics: Sequence[str], split: str = "test") -> None:
        """Start with no row.

        Args:
            columns: the domains of the table.
            metrics: its metrics.
            split: the text that was scored.
        """
        self.columns, self.metrics, self.split = columns, metrics, split
        self.sentences: dict[str, tuple[int, Path]] = {}
        self.signatures: dict[str, set[str]] = {}
        self.ceilings: dict[str, dict[str, float]] = {}  # metric -> column -> score of a perfect system
        self.text: dict[str, set[str]] = {}  # column -> identities of its training, validation and test text

    def add(self, path: Path, scores: Domains) -> None:
        """Add the scores of one run.

        Raises:
            DataError: an earlier run was scored on a different number of sentences.
        """
        for column in self.columns:
            of = scores.get(column.name)
            if of is None:
                continue
            known, where = self.sentences.setdefault(column.name, (of.num_sentences, path))
            if known != of.num_sentences:
                raise DataError(
                    f"{path}: {of.num_sentences} {self.split} sentences for {column.name}, but {known} in {where}; "
                    f"rows of one table need the same {self.split} set: decode and score again"
                )
            for metric, value in of.ceiling.items():
                self.ceilings.setdefault(metric, {})[column.name] = value
            if of.splits:
                found = "/".join(of.splits.get(name, ABSENT)[:8] for name in SPLITS)
                self.text.setdefault(column.name, set()).add(found)
            for metric in self.metrics:
                if metric in of.scores:
                    self.signatures.setdefault(metric, set()).add(of.scores[metric].signature)

    def signature_notes(self) -> list[str]:
        """Return for each metric how it was computed."""
        texts = {name: f"{METRICS[name].label}: {'; '.join(sorted(found))}" for name, found in self.signatures.items()}
        different = "Caution, scored in different ways: "
        return [text if len(self.signatures[name]) == 1 else different + text for name, text in texts.items()]


def measure(row: ScoreRow, shared: SharedConditions) -> dict[tuple[str, str], Measured]:
    """Return the values of a row by (metric, column); a number that one seed lacks is left out for all seeds.

    A row with one model per domain has the score of each domain by its own model, and under `OTHERS` the mean score of
    these models on the domains that they were not trained on.

    Raises:
        DataError: a file is damaged, or runs were scored on different numbers of sentences.
    """
    if row.models:
        return _measure_models(row, shared)
    runs = sorted_runs(row)
    seeds = tuple(run.seed for run in runs)
    read = [(run.scores, _read(run)) for run in runs]
    for path, scores in read:
        shared.add(path, scores)
    found: dict[tuple[str, str], Measured] = {}
    for metric in shared.metrics:
        by_domain = []
        for column in shared.columns:
            if known := _of_all_seeds(read, column.name, metric):
                found[metric, column.name] = Measured(known, seeds)
                by_domain.append(known)
        if len(by_domain) == len(shared.columns):
            # Averaged per seed, unrounded: the spread of the average is that of the seeds' averages.
            averages = tuple(mean(seed) for seed in zip(*by_domain, strict=True))
            found[metric, AVERAGE] = Measured(averages, seeds)
    paths = [run.development for run in runs if run.development]
    development = [(path, _concatenated(path)) for path in paths]
    for metric in shared.metrics if len(development) == len(runs) else ():
        if known := _of_all_seeds(development, DEVELOPMENT, metric):
            found[metric, DEVELOPMENT] = Measured(known, seeds)
    return found


def _measure_models(row: ScoreRow, shared: SharedConditions) -> dict[tuple[str, str], Measured]:
    of_model = {domain: measure(model, shared) for domain, model in row.models.items()}
    domains = [column.name for column in shared.columns]
    found: dict[tuple[str, str], Measured] = {}
    for metric in shared.metrics:
        own = {name: of_model.get(name, {}).get((metric, name)) for name in domains}
        others = [of.get((metric, name)) for domain, of in of_model.items() for name in domains if name != domain]
        several = {AVERAGE: averaged(own.values()), OTHERS: averaged(others)}
        found |= {(metric, key): value for key, value in {**own, **several}.items() if value is not None}
    return found


def _of_all_seeds(read: Sequence[tuple[Path, Domains]], domain: str, metric: str) -> tuple[float, ...]:
    """Return one score of each run; empty if any run lacks it."""
    values = [scores[domain].finite(metric, f"{path}, {domain}") if domain in scores else None for path, scores in read]
    known = tuple(value for value in values if value is not None)
    return known if len(known) == len(values) else ()


def _concatenated(path: Path) -> Domains:
    """Return the scores of all validation sets as one text, in the form of one domain's scores."""
    if (found := read_scores(path).concatenated) is None:
        raise DataError(f"{path}: expected scores of validation text as one; score the run again")
    return {DEVELOPMENT: found}
