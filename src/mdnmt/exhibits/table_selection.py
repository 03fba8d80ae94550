"""Make the specification of a table from a study."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count
from typing import Any

from mdnmt.config.paper import PaperTable, TableRow
from mdnmt.config.published import Published, PublishedNumber
from mdnmt.exhibits import specs
from mdnmt.exhibits.distinct_labels import distinct_rows
from mdnmt.exhibits.headings import heading, is_counterpart, is_of_pair, other_tokenizers, why_other
from mdnmt.exhibits.rows_without_training import copy_row, external_rows, external_tests, files_beside
from mdnmt.exhibits.task_selection import NOT_YET, ambiguous_words, existing, measured
from mdnmt.fsio import options_hash
from mdnmt.numbers.verdicts import Printed
from mdnmt.score.metrics.comet_files import TOY, segments_of
from mdnmt.studies.label_conditions import runs_with_labels
from mdnmt.studies.result_paths import ResultPaths
from mdnmt.studies.study import Run, Study, Task
from mdnmt.studies.study_exhibits import baseline_of, split_key, table_of

AVERAGE, TOTAL = "avg", "total"
DEVELOPMENT = "dev"  # all validation sets as one text
QUANTITIES = ("seconds_per_update", "seconds_per_epoch", "seconds_per_batch", "memory", "parameters")
SPLITS = ("train", "valid", "test")


def paper_table(study: Study, key: str) -> tuple[PaperTable, Task]:
    """Return a table of the study, with the rows that the study adds, and the task it is made from."""
    return table_of(study.config, study.papers, key), study.tasks[study.config.tables[key].task]


def columns(task: Task, table: PaperTable | None = None) -> tuple[specs.Column, ...]:
    """Return the domains of a task as columns, in the printed order of a table, or else in the task's order."""
    return tuple(
        specs.Column(
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
    printed_names = {name: _printed_name(task, name) for name in task.config.domains}
    positions = {name: printed.index(other) for name, other in printed_names.items() if other in printed}
    return sorted(printed_names, key=lambda name: positions.get(name, len(printed)))


def _printed_name(task: Task, domain: str) -> str:
    return task.config.domains[domain].stands_for or domain


def task_title(study: Study, task: Task) -> str:
    """Return the task's title if the study has several tasks, otherwise an empty text."""
    return task.config.title if len(study.tasks) > 1 else ""


def by_row(runs: Iterable[Run]) -> dict[str, list[Run]]:
    """Return the runs of each row, grouped by directory and label condition, with all their seeds."""
    rows: dict[str, list[Run]] = {}
    for run in runs:
        rows.setdefault(run.row, []).append(run)
    return rows


def table_runs(study: Study, key: str) -> list[Run]:
    """Return the makeable runs whose test translations a table compares: its systems and their baseline."""
    table, task = paper_table(study, key)
    if table.kind in ("corpora", "notation") or table.split != "test":
        return []
    names = {name for row in table.rows for name in row.methods} | {baseline_of(study.config, table)}
    gold_runs = [run for run in study.makeable(task.name) if run.method in names]
    row_runs = (run for row in table.rows for name in row.methods for run in runs_with_labels(study, task, row, name))
    return gold_runs + [run for run in row_runs if run.labels != "given" and run.spec is not None]


def table_spec(study: Study, key: str, places: ResultPaths, *, partial: bool = False) -> specs.AnyTable:
    """Return the spec of one table; methods that the study does not have are left out and named in a note.

    A partial table is made from the scores that exist now.
    """
    table, task = paper_table(study, key)
    left_out = dict.fromkeys(name for row in table.rows for name in row.methods if name not in study.methods)
    notes = (*table.notes, *((f"Not part of this study: {', '.join(left_out)}.",) if left_out else ()))
    common: dict[str, Any] = {"title": table.title, "task": task_title(study, task), "notes": notes}
    if table.kind in ("word_accuracy", "word_proportions", "gate_use"):
        return _word_table(study, table, task, places, partial, common)
    paper, _ = split_key(key)
    common["where"] = heading(paper, study.papers[paper], table, task.config)
    if table.kind == "notation":
        return specs.NotationTableSpec(title=table.title, where=common["where"], lines=table.notation)
    if table.kind == "examples":
        return _examples(study, table, task, places, partial, common)
    printed = _Printed(study, key, table, task)
    common |= {"differs": printed.differs, "metric_differs": _metric_differs(study, table)}
    common["margin"] = study.config.comparison.margin
    if table.kind == "corpora":
        return specs.CorporaTableSpec(**common, rows=tuple(_corpus_rows(task, places, printed, partial)))
    baseline = baseline_of(study.config, table)
    compared = {"baseline": baseline, "baseline_label": study.methods[baseline].label}
    rows = list(_rows(study, table, task))
    if table.kind == "resources":
        resource_rows = tuple(
            specs.ResourceRow(
                group=row.group,
                label=row.label or runs[0].label,
                method=runs[0].directory,
                missing=runs[0].missing,
                printed=printed.resources(row, runs[0]),
                **_choice(choice, runs, places, partial),
            )
            for row, runs, choice in rows
        )
        times = measured(study, task, places, partial)
        return specs.ResourceTableSpec(**common, **compared, **times, rows=distinct_rows(*resource_rows))
    is_predicted = task.spec is not None and any("predicted" in row.labels for row in table.rows)
    tested = is_tested(study, key)
    options = options_hash(comparison(study, key, places)) if tested else ""
    significance = existing(places.significance(key), partial, options) if tested else None
    return specs.ScoreTableSpec(
        **common,
        **compared,
        predicted_labels=existing(places.labels(task.name), partial) if is_predicted else None,
        columns=columns(task, table),
        rows=distinct_rows(
            *(copy_row(study, task, places, partial) if table.split == "test" else ()),
            *(
                _with_others(_score_row(row, runs, places, partial), study, table, runs, places, partial).model_copy(
                    update={"printed": printed.scores(row, runs[0]), **_choice(choice, runs, places, partial)}
                )
                for row, runs, choice in rows
            ),
            *external_rows(study, key, table, task, places, partial),
        ),
        metrics=table.metrics,
        metric_missing={"comet": study.no_comet} if study.no_comet and "comet" in table.metrics else {},
        metric_notes=table.metric_notes if table.printed and printed.numbers is not None else {},
        tokenizers=other_tokenizers(study.papers[paper], task.config) if table.printed and not printed.differs else "",
        shows=table.shows,
        delta=table.delta,
        split=table.split,
        development=table.development,
        significance=significance,
        made_with={str(significance): options} if significance else {},
    )


def _metric_differs(study: Study, table: PaperTable) -> dict[str, str]:
    """Return metric -> why our scores in it cannot be compared with the printed ones."""
    toy = {"comet": "scored with a toy of random weights"} if study.comet.name == TOY else {}
    return {**table.metric_differs, **toy}


def compared_runs(study: Study, key: str) -> dict[str, list[Run]]:
    """Return row -> runs of the rows that are compared with the baseline, for seeds that the baseline also has."""
    rows = by_row(table_runs(study, key))
    seeds = {run.seed for run in rows.get(baseline_of(study.config, paper_table(study, key)[0]), ())}
    paired = {row: [run for run in runs if run.seed in seeds] for row, runs in rows.items()}
    return {row: runs for row, runs in paired.items() if runs}


def is_tested(study: Study, key: str) -> bool:
    """Return whether the rows of a table of scores are tested against its baseline.

    Systems under other labels are not: each is compared with itself under gold labels.
    """
    table, task = paper_table(study, key)
    given = all(labels == "given" for row in table.rows for labels in row.labels)
    return task.spec is not None and given and table.split == "test" and bool(compared_runs(study, key))


def comparison(study: Study, key: str, places: ResultPaths) -> dict[str, Any]:
    """Return the spec of a table's significance tests: its systems, its baseline, the folders of hypotheses."""
    table, task = paper_table(study, key)
    rows, settings = compared_runs(study, key), study.config.comparison
    baseline = baseline_of(study.config, table)
    external, segments = external_tests(study, key, places, sorted(run.seed for run in rows.get(baseline, ())))
    has_comet = "comet" in table.metrics and not study.no_comet
    return {
        "task": places.task(task.name),
        "baseline": baseline,
        "limit": study.decoding[task.name].max_sentences,
        "metrics": [name for name in table.metrics if name != "comet" or has_comet],
        "num_resamples": settings.num_resamples,
        "num_trials": settings.num_trials,
        "correction": settings.correction,
        "systems": {
            **{row: {str(run.seed): f"{places.test(run)}/hyp" for run in runs} for row, runs in rows.items()},
            **external,
        },
        "comet": {
            **{row: {str(run.seed): str(segments_of(places.comet(run))) for run in runs} for row, runs in rows.items()},
            **segments,
        }
        if has_comet
        else {},
    }


class _Printed:
    """The published numbers of one table, if its task is the paper's or stands in for it."""

    def __init__(self, study: Study, key: str, table: PaperTable, task: Task) -> None:
        paper, _ = split_key(key)
        self.table, self.task = table, task
        has_numbers = is_counterpart(paper, table, task.config)
        self.numbers: Published | None = study.published.get(paper) if has_numbers else None
        self.differs = (table.differs or why_other(paper, table, task.config)) if table.printed else None

    def scores(self, row: TableRow, run: Run) -> dict[str, Printed]:
        """Return "<metric>/<domain, avg or dev>" -> number; printed differences are under "d<metric>/..."."""
        found = {}
        for metric in self.table.metrics:
            for domain in (*self.task.config.domains, AVERAGE, DEVELOPMENT):
                for prefix in ("", "d"):
                    names = tuple(prefix + name for name in self.table.printed_metrics.get(metric, ()))
                    number = self._find(self._row(row, run), self._column(domain), names)
                    if number is not None:
                        found[f"{prefix}{metric}/{domain}"] = number
        return found

    def resources(self, row: TableRow, run: Run) -> dict[str, Printed]:
        """Return quantity -> number; Phan 2022 calls the metric `time_per_step`, all others as we do."""
        numbers = {
            name: self._find(self._row(row, run), self.table.printed_columns.get(name, ()), (name, "time_per_step"))
            for name in QUANTITIES
        }
        return {name: number for name, number in numbers.items() if number is not None}

    def sentences(self, domain: str) -> dict[str, Printed]:
        """Return split -> number of sentences."""
        columns = self._column(domain)
        row = columns if isinstance(columns, str) else next(iter(columns), "")
        numbers = {name: self._find(row, (name, name.capitalize(), *_ALIASES[name]), ("sentences",)) for name in SPLITS}
        found = {name: number for name, number in numbers.items() if number is not None}
        remark = self.task.config.domains[domain].remark if domain in self.task.config.domains else None
        if remark and "test" in found:
            found["test"] = found["test"].model_copy(update={"note": remark})
        return found

    def _row(self, row: TableRow, run: Run) -> str:
        name = row.printed or row.label or run.label
        if "{domain}" not in name:
            return name
        column = self._column(run.domains[0])
        return name.replace("{domain}", column if isinstance(column, str) else next(iter(column), run.domains[0]))

    def _column(self, domain: str) -> str | tuple[str, ...]:
        config = self.task.config.domains.get(domain)
        return self.table.printed_columns.get((config and config.stands_for) or domain, ())

    def _find(self, row: str, columns: str | tuple[str, ...], metrics: tuple[str, ...]) -> Printed | None:
        if self.numbers is None or self.table.printed is None:
            return None
        for column in (columns,) if isinstance(columns, str) else columns:
            for metric in metrics:
                number: PublishedNumber | None = self.numbers.find(self.table.printed, row, column, metric)
                if number is not None:
                    return Printed(value=number.value, raw=number.raw, star=number.star, note=number.note)
        return None


# Split -> its other names in published tables.
_ALIASES = {"train": (), "valid": ("dev", "Dev"), "test": ()}


def _corpus_rows(task: Task, places: ResultPaths, printed: _Printed, partial: bool) -> Iterator[specs.CorpusRow]:
    stats = existing(f"{places.task(task.name)}/stats.json", partial) if task.spec is not None else None
    missing = None if stats else task.missing or NOT_YET
    domains = columns(task, printed.table)
    for column in domains:
        yield specs.CorpusRow(
            label=column.label,
            domain=column.name,
            stats=stats,
            missing=missing,
            differs=column.differs,
            printed=printed.sentences(column.name),
        )
    if printed.table.total:
        yield specs.CorpusRow(
            label="Total",
            domain=TOTAL,
            sum_of=tuple(column.name for column in domains),
            stats=stats,
            missing=missing,
            differs="; ".join(dict.fromkeys(column.differs for column in domains if column.differs)) or None,
            printed=printed.sentences(TOTAL),
        )


def _examples(
    study: Study, table: PaperTable, task: Task, places: ResultPaths, partial: bool, common: dict[str, Any]
) -> specs.ExamplesTableSpec:
    words = table.words if is_of_pair(table, task.config) else ()
    own = [column.name for column in columns(task, table) if _printed_name(task, column.name) in table.printed_columns]
    return specs.ExamplesTableSpec(
        **common,
        words=words,
        word_domains=tuple(own or task.config.domains) if words else (),
        **ambiguous_words(study, task, places, partial),
        systems=tuple(_score_row(row, runs, places, partial) for row, runs, _ in _rows(study, table, task)),
        columns=columns(task, table),
    )


def _rows(study: Study, table: PaperTable, task: Task) -> Iterator[tuple[TableRow, list[Run], int | None]]:
    """Yield the rows whose methods the study has, with their runs; rows with the same number are alternatives.

    For methods trained on one domain, the choice is made for each domain.
    """
    numbers = count(1)
    for row in table.rows:
        rivals: dict[tuple[tuple[str, ...], str], list[list[Run]]] = {}
        for method in row.methods:
            runs_of_row = [run.on(table.split) for run in runs_with_labels(study, task, row, method)]
            for runs in by_row(runs_of_row).values():
                rivals.setdefault((runs[0].domains, runs[0].labels), []).append(runs)
        for found in rivals.values():
            choice = next(numbers) if len(found) > 1 else None
            yield from ((row, runs, choice) for runs in found)


def _choice(choice: int | None, runs: list[Run], places: ResultPaths, partial: bool) -> dict[str, Any]:
    """Return the number of a row's choice, and the run.json files of its runs, which decide the choice."""
    if choice is None:
        return {}
    paths = [existing(f"{places.run(run)}/run.json", partial) for run in runs if run.spec is not None]
    return {"choice": choice, "records": tuple(path for path in paths if path is not None)}


def _word_table(
    study: Study, table: PaperTable, task: Task, places: ResultPaths, partial: bool, common: dict[str, Any]
) -> specs.WordTableSpec:
    rows = [
        specs.WordRow(**dict(_score_row(row, runs, places, partial, "words.json")), knows=row.knows)
        for row, runs, _ in _rows(study, table, task)
    ]
    return specs.WordTableSpec.model_validate(
        {"kind": table.kind, "num_domains": len(task.config.domains), "rows": rows, **common}
    )


def _with_others(
    row: specs.ScoreRow, study: Study, table: PaperTable, runs: list[Run], places: ResultPaths, partial: bool
) -> specs.ScoreRow:
    """Return the row with the files of its other scores: other metrics, validation text."""
    files_of_seed = {
        run.seed: files_beside(study, table, places.test(run), places.comet(run))
        for run in runs
        if run.spec is not None
    }
    validation = {run.seed: f"{places.test(run.on('valid'))}/scores.json" for run in runs if table.development}
    made = tuple(
        run.model_copy(
            update={
                "others": tuple(path for file in files_of_seed[run.seed] if (path := existing(file, partial))),
                "development": existing(validation[run.seed], partial) if run.seed in validation else None,
            }
        )
        for run in row.runs
        if run.seed is not None
    )
    return row.model_copy(update={"runs": made})


def _score_row(
    row: TableRow, runs: list[Run], places: ResultPaths, partial: bool, file: str = "scores.json"
) -> specs.ScoreRow:
    return with_condition_label(
        score_row(row.group, row.label or runs[0].label, runs, places, partial, file), row, runs[0]
    )


def score_row(group: str, label: str, runs: list[Run], places: ResultPaths, partial: bool, file: str) -> specs.ScoreRow:
    """Return a system's row with the file of each seed that was or will be made, or the reason why there is none."""
    made = tuple(
        specs.ScoreRun(scores=scores, seed=run.seed)
        for run in runs
        if run.spec is not None and (scores := existing(f"{places.test(run)}/{file}", partial))
    )
    missing = None if made else runs[0].missing or NOT_YET
    return specs.ScoreRow(group=group, label=label, method=runs[0].row, runs=made, missing=missing)


def with_condition_label(found: specs.ScoreRow, row: TableRow, run: Run) -> specs.ScoreRow:
    """Return a row with its label condition in its label, and the row under gold labels that it is compared with."""
    if row.labels == ("given",):
        return found
    changes: dict[str, Any] = {"label": f"{found.label}, label {run.labels}", "against": run.directory}
    return found.model_copy(update=changes)
