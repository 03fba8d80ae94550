"""Build the papers' results table: systems by domains, mean and spread over seeds (Jiang et al. 2020, Table 2)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mdnmt.errors import DataError
from mdnmt.fsio import read_json
from mdnmt.paper.best_of import settle
from mdnmt.paper.grid import Cell, Grid, GridRow, Header, Reasons
from mdnmt.paper.numbers import half_up, mean, standard_deviation, unbroken
from mdnmt.paper.specs import ScoreRow, ScoreTableSpec

METRIC_LABELS = {"bleu": "BLEU", "chrf": "chrF"}
AVERAGE = "avg"  # the key of the average's column
PLACES = 2
SPLITS = ("train", "valid", "test")
NONE = "-"
ALPHA = 0.05  # the level of the verdicts, where the significance file names none


@dataclass(frozen=True)
class Measured:
    """One number of one row: its value for each run, and how many of these were trained."""

    values: tuple[float, ...]
    num_seeds: int


def _read(path: Path) -> dict[str, Any]:
    try:
        domains = read_json(path)["domains"]
        return dict(domains)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(f"{path}: expected a scores.json with domains ({error}); score the run again") from error


def _score(path: Path, scores: dict[str, Any], domain: str, metric: str) -> float | None:
    """Return one score, None where the run has none for this domain."""
    if domain not in scores or scores[domain].get(metric) is None:
        return None
    value = scores[domain][metric]["score"]
    if not isinstance(value, int | float) or not math.isfinite(value):
        raise DataError(f"{path}: {metric} of {domain} is {value!r}, expected a finite number; score the run again")
    return float(value)


class _Facts:
    """What all rows must share to stand in one table: test sets and signatures."""

    def __init__(self) -> None:
        self.sentences: dict[str, tuple[int, Path]] = {}
        self.signatures: dict[str, set[str]] = {}
        self.text: dict[str, set[str]] = {}  # column -> identities of its training, validation and test text

    def add(self, path: Path, scores: dict[str, Any], spec: ScoreTableSpec) -> None:
        for column in spec.columns:
            entry = scores.get(column.name)
            if entry is None:
                continue
            count = int(entry.get("num_sentences", 0))
            known, where = self.sentences.setdefault(column.name, (count, path))
            if known != count:
                raise DataError(
                    f"{path}: {count} test sentences for {column.name}, but {known} in {where}; "
                    "rows of one table need the same test set: decode and score again"
                )
            if splits := entry.get("splits"):
                found = "/".join(str(splits.get(name, NONE))[:8] for name in SPLITS)
                self.text.setdefault(column.name, set()).add(found)
            for metric in spec.metrics:
                if metric in entry:
                    self.signatures.setdefault(metric, set()).add(str(entry[metric].get("signature", "")))


def _measure(row: ScoreRow, spec: ScoreTableSpec, facts: _Facts) -> dict[tuple[str, str], Measured]:
    """Return the values of a row by (metric, column); a number that a seed lacks is left out for all."""
    seeds = [run.seed for run in row.runs]
    if len(set(seeds)) != len(seeds):
        raise DataError(f"row {row.label!r}: seeds {seeds} hold one twice; expected each seed once")
    trained = sum(seed is not None for seed in seeds)
    read = [(run.scores, _read(run.scores)) for run in row.runs]
    for path, scores in read:
        facts.add(path, scores, spec)
    found: dict[tuple[str, str], Measured] = {}
    for metric in spec.metrics:
        by_domain = []
        for column in spec.columns:
            values = [_score(path, scores, column.name, metric) for path, scores in read]
            known = [value for value in values if value is not None]
            if known and len(known) == len(values):
                found[metric, column.name] = Measured(tuple(known), trained)
                by_domain.append(known)
        if len(by_domain) == len(spec.columns):
            # Averaged a seed at a time, unrounded: the spread of the average is that of the seeds' averages.
            averages = tuple(mean(seed) for seed in zip(*by_domain, strict=True))
            found[metric, AVERAGE] = Measured(averages, trained)
    return found


def _cell(measured: Measured | None, tested: dict[str, Any]) -> Cell:
    if measured is None:
        return Cell()
    centre, spread = mean(measured.values), standard_deviation(measured.values)
    return Cell(
        text=half_up(centre, PLACES),
        mean=centre,
        sd=spread,
        spread=None if spread is None else half_up(spread, PLACES),
        num_seeds=measured.num_seeds,
        delta=tested.get("delta"),
        p=tested.get("p"),
        verdict=tested.get("verdict"),
    )


def mark_best(rows: list[GridRow]) -> list[GridRow]:
    """Return the rows with the highest number of a trained system in each column marked, and what reads the same.

    A column with one trained system has no best.
    """
    best: list[str | None] = []
    for cells in zip(*(row.cells for row in rows), strict=True):
        known = [cell for cell in cells if cell.mean is not None and cell.num_seeds]
        top = max(known, key=lambda cell: cell.mean or 0.0) if len(known) > 1 else None
        best.append(top.text if top else None)
    return [
        row.model_copy(
            update={
                "cells": tuple(
                    cell.model_copy(update={"best": cell.num_seeds > 0 and cell.text == top})
                    for cell, top in zip(row.cells, best, strict=True)
                )
            }
        )
        for row in rows
    ]


def _seed_note(rows: list[GridRow]) -> str | None:
    counts: dict[int, list[str]] = {}
    for row in rows:
        seeds = max((cell.num_seeds for cell in row.cells), default=0)
        if seeds:
            counts.setdefault(seeds, []).append(row.label)
    if not counts:
        return None
    if set(counts) == {1}:
        return "1 seed: no spread. Another seed may move every number and change the order."
    several = sorted(n for n in counts if n > 1)
    note = f"\N{PLUS-MINUS SIGN} is the standard deviation over {' or '.join(map(str, several))} seeds"
    return note + (f"; 1 seed, no spread: {', '.join(counts[1])}." if 1 in counts else ".")


def _tested_seeds(significance: dict[str, Any]) -> str:
    systems = significance.get("systems", {}).values()
    seeds = {int(test.get("seeds", 1)) for by in systems for domain in by.values() for test in domain.values()}
    return f", with each of {max(seeds)} training seeds" if seeds and max(seeds) > 1 else ""


def _check_verdicts(path: Path | None, significance: dict[str, Any]) -> None:
    """Refuse a file without verdicts: a mean delta and a p alone do not say that every seed agrees."""
    for system, domains in significance.get("systems", {}).items():
        for domain, metrics in domains.items():
            for metric, tested in metrics.items():
                if tested.get("verdict", "") not in ("better", "worse", None):
                    raise DataError(
                        f"{path}: {metric} of {system} on {domain} has no verdict; expected better, worse or null; "
                        "run the test again"
                    )


def _was_tested(rows: list[GridRow]) -> bool:
    return any(cell.p is not None for row in rows for cell in row.cells)


def _notes(
    spec: ScoreTableSpec, facts: _Facts, rows: list[GridRow], significance: dict[str, Any], baseline: str | None
) -> list[str]:
    notes = []
    trained = [row for row in rows if any(cell.num_seeds for cell in row.cells)]
    if any(cell.best for row in rows for cell in row.cells):
        notes.append("Bold: the best trained system of its column.")
    if _was_tested(rows):
        level = unbroken(f"p < {significance.get('alpha', ALPHA):g}")
        notes.append(
            f"* better than {baseline} on the same sentences, {level}: paired bootstrap, "
            f"{significance.get('num_resamples', '?')} resamples, seed {significance.get('seed', '?')}"
            f"{_tested_seeds(significance)}, "
            "not corrected for the number of comparisons. Averages are not tested."
        )
    elif spec.baseline is not None and len(trained) > 1:
        notes.append("No significance test was made.")
    seeds = _seed_note(rows)
    if seeds:
        notes.append(seeds)
    labels = {column.name: column.label for column in spec.columns}
    if facts.sentences:
        sizes = ", ".join(f"{labels[name]} {count}" for name, (count, _) in facts.sentences.items())
        notes.append(f"Test sentences: {sizes}. {spec.average_label} is the mean of the unrounded domain scores.")
    if facts.text:
        found = "; ".join(f"{labels[name]} {' and '.join(sorted(texts))}" for name, texts in facts.text.items())
        several = any(len(texts) > 1 for texts in facts.text.values())
        notes.append(f"{'Caution, several texts: identity' if several else 'Identity'} of {'/'.join(SPLITS)}: {found}.")
    for metric, signatures in facts.signatures.items():
        text = f"{METRIC_LABELS[metric]}: {'; '.join(sorted(signatures))}"
        notes.append(text if len(signatures) == 1 else f"Caution, scored in different ways: {text}")
    return [*notes, *spec.notes]


def build(spec: ScoreTableSpec) -> Grid:
    """Return the results table of `spec`.

    Raises:
        DataError: a file is not what it should be, or the rows were not scored on the same test sets.
    """
    # A baseline that gives way to a better size is still what all others are tested against.
    baseline_label = next((row.label for row in spec.rows if row.method == spec.baseline), spec.baseline_label)
    spec = settle(spec)
    significance: dict[str, Any] = read_json(spec.significance) if spec.significance else {}
    if significance and spec.baseline is not None and significance.get("baseline") != spec.baseline:
        raise DataError(
            f"{spec.significance}: tested against {significance.get('baseline')!r}, expected {spec.baseline!r}; "
            "run the test again"
        )
    headers = [
        Header(key=key, label=label, metric=metric, group=METRIC_LABELS[metric], places=PLACES)
        for metric in spec.metrics
        for key, label in [*((c.name, c.label) for c in spec.columns), (AVERAGE, spec.average_label)]
    ]
    _check_verdicts(spec.significance, significance)
    facts, reasons, rows = _Facts(), Reasons(), []
    labels = {column.name: column.label for column in spec.columns}
    for row in spec.rows:
        measured = _measure(row, spec, facts)
        tests = significance.get("systems", {}).get(row.method, {})
        cells = tuple(_cell(measured.get((h.metric, h.key)), tests.get(h.key, {}).get(h.metric, {})) for h in headers)
        marks = [reasons.mark(row.missing)] if row.missing else []
        absent = [label for name, label in labels.items() if (spec.metrics[0], name) not in measured]
        if not row.missing and absent:
            reason = f"no score on {', '.join(absent)}" if row.runs else "no run"
            marks.append(reasons.mark(reason))
        rows.append(GridRow(group=row.group, label=row.label, method=row.method, cells=cells, marks=tuple(marks)))
    rows = mark_best(rows)
    return Grid(
        kind="scores",
        title=spec.full_title,
        headers=tuple(headers),
        rows=tuple(rows),
        baseline=spec.baseline,
        baseline_label=baseline_label,
        alpha=significance.get("alpha", ALPHA) if _was_tested(rows) else None,
        reasons=tuple(reasons.texts),
        notes=tuple(_notes(spec, facts, rows, significance, baseline_label or spec.baseline)),
        test_sentences=tuple((name, count) for name, (count, _) in facts.sentences.items()),
    )
