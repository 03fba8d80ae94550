"""The papers' results table: systems by domains, mean and spread over seeds (Jiang et al. 2020, Table 2)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from pydantic import Field

from mdnmt.config.decoding import Split
from mdnmt.config.metrics import METRICS, Metric
from mdnmt.exhibits.best_by_validation import choose_best
from mdnmt.exhibits.distinct_labels import distinct_rows
from mdnmt.exhibits.grid import DELTA, Cell, Grid, GridRow, Header, Reasons, mark_best, number_cell
from mdnmt.exhibits.label_condition_notes import label_notes
from mdnmt.exhibits.published_cells import annotate, first_reason, with_published
from mdnmt.exhibits.registry import ComparedTableSpec, register
from mdnmt.exhibits.rows import Column, ScoreRow, files_of
from mdnmt.exhibits.seed_scores import (
    AVERAGE,
    DEVELOPMENT,
    OTHERS,
    SPLITS,
    Measured,
    SharedConditions,
    difference,
    interval,
    measure,
    row_runs,
)
from mdnmt.exhibits.significance_stars import ALPHA, people_note, read_tested, star_note
from mdnmt.fsio import read_json
from mdnmt.numbers.rounding import half_up, mean, signed
from mdnmt.numbers.verdicts import Judgement, judge, scoring_basis
from mdnmt.score.human_agreement import agreement, why_not_covered

if TYPE_CHECKING:
    from mdnmt.exhibits.table_request import TableRequest

PLACES = 2

Numbers = dict[tuple[str, str], Measured]


def _headers(spec: ScoreTable) -> list[Header]:
    """Return the columns of each metric: all validation text (if asked for), the domains, their average."""
    domains = [(column.name, column.label) for column in spec.columns] if spec.shows == "domains" else []
    if spec.development:
        domains = [(DEVELOPMENT, "Dev."), *domains]
    headers = []
    for metric in spec.metrics:
        name, why = METRICS[metric].label, spec.metric_missing.get(metric)
        group = name if spec.shows == "domains" else spec.average_label
        for key, label in (*domains, (AVERAGE, spec.average_label if spec.shows == "domains" else name)):
            headers.append(Header(key=key, label=label, metric=metric, group=group, places=PLACES, missing=why))
            if spec.delta:
                label = f"\N{GREEK CAPITAL LETTER DELTA}{name}"
                headers.append(
                    Header(key=key, label=label, metric=DELTA + metric, group=group, places=PLACES, missing=why)
                )
    return headers


def _cell(measured: Measured | None, tested: dict[str, Any], agreed: float | None) -> Cell:
    if measured is None:
        return Cell()
    comparison = read_tested(tested)
    return number_cell(
        measured.values,
        measured.num_seeds,
        PLACES,
        delta=tested.get("delta"),
        p=tested.get("p_corrected", tested.get("p")),
        verdict=tested.get("verdict"),
        tested=comparison and comparison.model_copy(update={"agreement": agreed}),
    )


def _agreement(metric: str, tested: dict[str, Any], shared: SharedConditions) -> float | None:
    """Return how often people agree with a difference; None if that is not known."""
    signatures = shared.signatures.get(metric, set())
    if len(signatures) != 1 or "delta" not in tested:
        return None
    return agreement(metric, next(iter(signatures)), tested["delta"])


def _people_note(shared: SharedConditions) -> str:
    """Return the note on the agreement of people with the metrics of this table."""
    why = {
        metric: why_not_covered(metric, next(iter(signatures)))
        if len(signatures) == 1
        else "rows were scored in different ways"
        for metric, signatures in shared.signatures.items()
    }
    return people_note(
        [METRICS[metric].label for metric, reason in why.items() if reason is None],
        {METRICS[metric].label: reason for metric, reason in why.items() if reason is not None},
    )


def _delta_cell(ours: Measured | None, base: Measured | None) -> Cell:
    """Return the difference of two means; if both have the same seeds, its spread is that of the differences."""
    if ours is None or base is None or ours is base:
        return Cell()
    if paired := difference(ours, base):
        return number_cell(paired.values, ours.num_seeds, PLACES, show=signed)
    of_means = mean(ours.values) - mean(base.values)
    return Cell(text=signed(of_means, PLACES), mean=of_means, num_seeds=ours.num_seeds)


def _differs(spec: ScoreTable, header: Header) -> str | None:
    """Return why a column's numbers cannot be compared with the published ones."""
    of_domain = _of_columns(spec, header, "differs")
    return first_reason(spec.differs, spec.metric_differs.get(header.metric.removeprefix(DELTA)), *of_domain)


def _of_columns(spec: ScoreTable, header: Header, what: Literal["differs", "remark"]) -> list[str]:
    """Return what is said of the domains that a column shows or averages."""
    columns = [column for column in spec.columns if header.key in (column.name, AVERAGE, DEVELOPMENT)]
    return [text for column in columns if (text := getattr(column, what))]


def _beside(spec: ScoreTable, row: ScoreRow, header: Header, cell: Cell, shared: SharedConditions) -> Cell:
    printed = row.printed.get(f"{header.metric}/{header.key}")
    differs = _differs(spec, header)
    split = "valid" if header.key == DEVELOPMENT else spec.split
    scored = scoring_basis(shared.signatures.get(header.metric.removeprefix(DELTA), ()), split)
    resting = "; ".join(filter(None, [scored, spec.tokenizers, *_of_columns(spec, header, "remark")]))
    judgement = judge(cell.values, printed, differs, margin=spec.margin.points, basis=resting)
    if judgement is None and printed is not None and printed.value is not None and cell.mean is not None:
        reason = differs or "the baseline was trained with other seeds"
        judgement = Judgement(verdict="not comparable" if differs else "inconclusive", reason=reason)
    return with_published(cell, printed, judgement)


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


def _was_tested(rows: list[GridRow]) -> bool:
    return any(cell.p is not None for row in rows for cell in row.cells)


def _notes(
    spec: ScoreTable,
    shared: SharedConditions,
    rows: list[GridRow],
    significance: dict[str, Any],
    baseline: str | None,
) -> list[str]:
    notes = []
    trained = [row for row in rows if any(cell.num_seeds for cell in row.cells)]
    if any(cell.best for row in rows for cell in row.cells):
        notes.append("Bold: the best trained system of its column.")
    if _was_tested(rows):
        tested = [cell.tested for row in rows for cell in row.cells if cell.tested]
        notes += [star_note(significance, baseline, tested), _people_note(shared)]
    elif spec.baseline is not None and len(trained) > 1:
        notes.append("No significance test was made.")
    seeds = _seed_note(rows)
    if seeds:
        notes.append(seeds)
    labels = {column.name: column.label for column in spec.columns}
    if shared.sentences:
        sizes = ", ".join(f"{labels[name]} {count}" for name, (count, _) in shared.sentences.items())
        split = "Test" if spec.split == "test" else "Validation"
        notes.append(f"{split} sentences: {sizes}. {spec.average_label} is the mean of the unrounded domain scores.")
    if spec.development:
        notes.append("Dev.: the validation sentences of all domains, scored as one text; not part of the average.")
    if shared.text:
        found = "; ".join(f"{labels[name]} {' and '.join(sorted(texts))}" for name, texts in shared.text.items())
        several = any(len(texts) > 1 for texts in shared.text.values())
        notes.append(f"{'Caution, several texts: identity' if several else 'Identity'} of {'/'.join(SPLITS)}: {found}.")
    notes += shared.signature_notes()
    perfect = [
        f"{METRICS[metric].label} {', '.join(f'{labels[name]} {half_up(value, 1)}' for name, value in of.items())}"
        for metric, of in shared.ceilings.items()
        if metric in spec.metrics
    ]
    if perfect:
        notes.append(f"A perfect system, whose words this task's tokenizer joins, has {'; '.join(perfect)}.")
    notes += [METRICS[metric].caution for metric in shared.signatures if METRICS[metric].caution]
    notes += [f"No {METRICS[metric].label}: {why}." for metric, why in spec.metric_missing.items()]
    notes += [f"Published numbers beside {METRICS[metric].label}: {text}" for metric, text in spec.metric_notes.items()]
    if any(row.printed for row in spec.rows) and not spec.differs:
        remarks = [f"{column.label}: {column.remark}" for column in spec.columns if column.remark]
        notes += [f"{text}." for text in (spec.tokenizers, *remarks) if text]
    if any(row.against for row in spec.rows):
        notes += label_notes(spec.columns, spec.predicted_labels, delta=spec.delta)
    return [*notes, *spec.notes]


@register
class ScoreTable(ComparedTableSpec):
    """The papers' results table: systems by domains, with an average."""

    kind: Literal["scores"] = "scores"
    columns: tuple[Column, ...] = Field(min_length=1)
    rows: tuple[ScoreRow, ...]
    metrics: tuple[Metric, ...] = Field(default=("bleu", "chrf"), min_length=1)
    metric_missing: dict[Metric, str] = Field({})  # metric -> why no run has it
    metric_notes: dict[Metric, str] = Field({})  # metric -> how the published number was computed
    tokenizers: str = ""  # how text is split otherwise than in the paper, if it is
    shows: Literal["domains", "average"] = "domains"
    delta: bool = False  # show beside each score its difference from the baseline
    split: Split = "test"  # of the text that was scored
    development: bool = False  # a first column: the validation sets of all domains as one text
    average_label: str = "Avg."
    baseline: str | None = None  # the method that stars compare with
    baseline_label: str | None = None  # its label if no row shows it
    significance: Path | None = None
    predicted_labels: Path | None = None  # a classifier's predictions, for rows with predicted labels
    notes: tuple[str, ...] = ()

    @classmethod
    def select(cls, request: TableRequest) -> Self:
        """Return the table of a study."""
        table = request.table
        significance, made_with = request.significance()
        return cls(
            **request.common,
            **request.compared_with_print,
            **request.baseline,
            **request.about_metrics,
            columns=request.columns,
            rows=distinct_rows(*request.score_rows()),
            metrics=table.metrics,
            shows=table.shows,
            delta=table.delta,
            split=table.split,
            development=table.development,
            significance=significance,
            predicted_labels=request.predicted_labels(),
            made_with=made_with,
        )

    def inputs(self) -> list[Path]:
        """Return the files that the table is made from."""
        others = [path for path in (self.significance, self.predicted_labels) if path]
        return [*files_of(self.rows), *others]

    def needs(self) -> tuple[ScoreRow, ...]:
        """Return its rows, those of models of single domains apart."""
        return tuple(part for row in self.rows for part in row.parts)

    @property
    def cells_of_row(self) -> int:
        """Return how many cells a row has."""
        columns = (1 if self.shows == "average" else len(self.columns) + 1) + self.development
        return columns * len(self.metrics)

    def build(self) -> Grid:
        """Return the results table.

        Raises:
            DataError: a file is invalid, or the rows were not scored on the same test sets.
        """
        # Even if another size is shown in its row, all others are tested against the baseline.
        baseline_label = next((row.label for row in self.rows if row.method == self.baseline), self.baseline_label)
        chosen, choices = choose_best(self.rows)
        spec = self.model_copy(update={"rows": chosen, "notes": (*choices, *self.notes)})
        significance: dict[str, Any] = read_json(spec.significance) if spec.significance else {}
        headers, reasons, rows = _headers(spec), Reasons(), []
        shared = SharedConditions(spec.columns, spec.metrics, spec.split)
        measured = [measure(row, shared) for row in spec.rows]
        is_told = any(row.against for row in spec.rows)
        of_row: dict[str | None, Numbers] = {
            row.method: numbers for row, numbers in zip(spec.rows, measured, strict=True)
        }
        for row, numbers in zip(spec.rows, measured, strict=True):
            tests, base = (
                significance.get("systems", {}).get(row.method, {}),
                of_row.get(row.against if is_told else spec.baseline, {}),
            )
            cells = []
            for header in headers:
                key = (header.metric.removeprefix(DELTA), header.key)
                if header.metric.startswith(DELTA):
                    cell = _delta_cell(numbers.get(key), base.get(key))
                else:
                    tested = tests.get(header.key, {}).get(header.metric, {})
                    cell = _cell(numbers.get(key), tested, _agreement(header.metric, tested, shared))
                cells.append(_beside(spec, row, header, cell, shared))
            texts = (*_external(spec, row, numbers), *_absent(spec, row, numbers))
            texts += _own_domains(spec.metrics[0], row, numbers, base, baseline_label or spec.baseline)
            marks = [reasons.mark(text) for text in texts]
            about = {"group": row.group, "label": row.label, "method": row.method, "marks": tuple(marks)}
            rows.append(GridRow(cells=tuple(cells), runs=row_runs(row), **about))
        rows = mark_best(rows, headers)
        grid = Grid(
            kind="scores",
            title=spec.full_title,
            where=spec.where,
            headers=tuple(headers),
            rows=tuple(rows),
            baseline=spec.baseline,
            baseline_label=baseline_label,
            alpha=significance.get("alpha", ALPHA) if _was_tested(rows) else None,
            correction=significance.get("correction", "none"),
            reasons=tuple(reasons.texts),
            notes=tuple(_notes(spec, shared, rows, significance, baseline_label or spec.baseline)),
            split=spec.split,
            test_sentences=tuple((name, count) for name, (count, _) in shared.sentences.items()),
        )
        return annotate(grid, spec.margin)


def _external(spec: ScoreTable, row: ScoreRow, numbers: Numbers) -> list[str]:
    """Return the provenance of a system that is not trained here, what is odd about it, and why it lacks scores."""
    if not row.external:
        return []
    lacking = [METRICS[metric].label for metric in spec.metrics if METRICS[metric].needs_model]
    found = [f"not trained here: {row.external}"]
    full = [numbers[key].values for column in spec.columns if (key := ("bleu", column.name)) in numbers]
    if full and min(map(min, full)) > 100 - 1e-9:
        found.append("all its translations equal the references (BLEU 100)")
    if lacking:
        found.append(f"no {' and '.join(lacking)}: computed from the model, and there are only its translations")
    return [*found, *(["no translations of the validation text"] if spec.development else [])]


def _own_domains(metric: Metric, row: ScoreRow, ours: Numbers, base: Numbers, baseline: str | None) -> tuple[str, ...]:
    """Return what a row with one model per domain gains on the models' own domains, and loses on the others."""
    if not row.models:
        return ()
    found = [f"each domain by its own model; not tested against {baseline}"]
    for key, where in ((AVERAGE, "own domains"), (OTHERS, "other domains")):
        if measured := ours.get((metric, key)):
            text = f"on {where} {half_up(mean(measured.values), PLACES)} {METRICS[metric].label}"
            gain = interval(difference(measured, base.get((metric, AVERAGE))), PLACES)
            found.append(f"{text}, {gain} to {baseline}" if gain else text)
    return ("; ".join(found),)


def _absent(spec: ScoreTable, row: ScoreRow, numbers: Numbers) -> list[str]:
    """Return why a row lacks numbers, except for metrics that the whole table lacks."""
    if row.why_missing:
        return [row.why_missing]
    if not any(part.runs for part in row.parts):
        return ["no run"]
    labels = [c.label for c in spec.columns if not any((metric, c.name) in numbers for metric in spec.metrics)]
    found = [f"no score on {', '.join(labels)}"] if labels else []
    for metric in spec.metrics:
        lacking = [c.label for c in spec.columns if (metric, c.name) not in numbers and c.label not in labels]
        if row.external and METRICS[metric].needs_model:
            continue
        if lacking and metric not in spec.metric_missing:
            found.append(f"no {METRICS[metric].label} on {', '.join(lacking)}")
    return found
