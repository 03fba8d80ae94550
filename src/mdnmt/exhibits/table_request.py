"""What the kinds of tables select from: rows of runs, columns, and the numbers that the paper prints."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import Any

from mdnmt.config.metrics import METRICS
from mdnmt.config.paper import PaperTable, TableRow
from mdnmt.config.published import Published, PublishedNumber
from mdnmt.escape import one_line
from mdnmt.exhibits.baseline_differences import ComparedSystems
from mdnmt.exhibits.comparison import comparison, external_comet, is_tested
from mdnmt.exhibits.headings import heading, is_counterpart, is_of_pair, other_tokenizers, printed_heading, why_other
from mdnmt.exhibits.registry import TableSpec, table_class
from mdnmt.exhibits.request import Request, by_row, columns, paper_table, printed_name
from mdnmt.exhibits.rows import Column, ScoreRow, ScoreRun
from mdnmt.exhibits.seed_scores import AVERAGE, DEVELOPMENT
from mdnmt.exhibits.task_selection import measure_options
from mdnmt.fsio import options_hash
from mdnmt.numbers.verdicts import Printed
from mdnmt.score.metrics.comet_files import TOY
from mdnmt.studies.external_systems import external_of_table
from mdnmt.studies.label_conditions import runs_with_labels
from mdnmt.studies.result_paths import ResultPaths
from mdnmt.studies.study import COPY, ExternalOutput, Run, Study, Task
from mdnmt.studies.study_exhibits import baseline_of, split_key

QUANTITIES = ("seconds_per_update", "seconds_per_epoch", "seconds_per_batch", "memory", "parameters")
# Split -> its names in published tables.
SPLITS = {"train": ("train", "Train"), "valid": ("valid", "Valid", "dev", "Dev"), "test": ("test", "Test")}


def table_spec(study: Study, key: str, places: ResultPaths, *, partial: bool = False) -> TableSpec:
    """Return one table of a study.

    Args:
        study: the study.
        key: the table's key in the study.
        places: the paths of the results.
        partial: select only files that exist now.
    """

    def select() -> TableSpec:
        table, task = paper_table(study, key)
        return table_class(table.kind).select(TableRequest(study, key, task, places, partial, table))

    # A DAG asks for each a dozen times: for inputs, hashes, pages. Which files exist may change while it runs.
    return select() if partial else study.once(("table", key, places), select)


def compared_systems(request: Request, keys: Iterable[str]) -> tuple[ComparedSystems, ...]:
    """Return what the score tables compare that the study shows for a task, with all printed numbers.

    Args:
        request: a table or figure that sums them up.
        keys: keys of tables; those that the study does not show for the task are left out.
    """
    found, study = [], request.study
    for key in keys:
        shown = study.config.tables.get(key)
        if shown is None or shown.task != request.task.name:
            continue
        paper = split_key(key)[0]
        table: Any = table_spec(study.as_printed(paper), key, request.places, partial=request.partial)
        if table.kind == "scores":
            where = printed_heading(study.papers[paper], paper_table(study, key)[0], request.task.config)
            label = f"{study.papers[paper].cited_as}, {where}" if where else f"Against {table.baseline_label}"
            names = ("columns", "rows", "baseline", "baseline_label")
            about = {name: getattr(table, name) for name in names}
            found.append(ComparedSystems(label=label, metric=table.metrics[0], **about))
    return tuple(found)


@dataclass(frozen=True)
class TableRequest(Request):
    """One table of a study, for `TableSpec.select`.

    Attributes:
        table: the table as its paper's YAML describes it, with the rows that the study adds.
    """

    table: PaperTable

    @property
    def common(self) -> dict[str, Any]:
        """Return title, place, task and notes; methods that the study does not have are named in a note."""
        names = dict.fromkeys(name for row in self.table.rows for name in row.methods)
        left_out = [name for name in names if name not in self.study.methods]
        notes = (*self.table.notes, *((f"Not part of this study: {', '.join(left_out)}.",) if left_out else ()))
        return {"title": self.table.title, "where": self.where, "task": self.task_title, "notes": notes}

    @property
    def where(self) -> str:
        """Return the table's number in its paper."""
        paper, _ = split_key(self.key)
        return heading(paper, self.study.papers[paper], self.table, self.task.config)

    @property
    def compared_with_print(self) -> dict[str, Any]:
        """Return why numbers cannot be compared with the printed ones, and how large a difference does not matter."""
        toy = {"comet": "scored with a toy of random weights"} if self.study.comet.name == TOY else {}
        return {
            "differs": self.printed.differs,
            "metric_differs": {**self.table.metric_differs, **toy},
            "margin": self.study.config.comparison.margin,
        }

    @property
    def baseline(self) -> dict[str, Any]:
        """Return the system that the others are compared with."""
        baseline = baseline_of(self.study.config, self.table)
        return {"baseline": baseline, "baseline_label": self.study.methods[baseline].label}

    @property
    def about_metrics(self) -> dict[str, Any]:
        """Return why a metric is missing, how printed numbers were computed, and how text is split otherwise."""
        table, study, printed = self.table, self.study, self.printed
        paper = study.papers[split_key(self.key)[0]]
        is_beside_print = bool(table.printed) and not printed.differs
        return {
            "metric_missing": {"comet": study.no_comet} if study.no_comet and "comet" in table.metrics else {},
            "metric_notes": table.metric_notes if table.printed and printed.numbers is not None else {},
            "tokenizers": other_tokenizers(paper, self.task.config) if is_beside_print else "",
        }

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """Return the domains of the task, in the printed order of the table."""
        return columns(self.task, self.table)

    @property
    def printed_domains(self) -> tuple[str, ...]:
        """Return the domains of the task that the paper prints; all of them if it prints none."""
        own = [one.name for one in self.columns if printed_name(self.task, one.name) in self.table.printed_columns]
        return tuple(own or self.task.config.domains)

    @property
    def asked_words(self) -> tuple[str, ...]:
        """Return the words that the table asks for, if the task has its language pair."""
        return self.table.words if is_of_pair(self.table, self.task.config) else ()

    @cached_property
    def printed(self) -> PrintedNumbers:
        """Return the numbers that the paper prints in this table."""
        return PrintedNumbers(self.study, self.key, self.table, self.task)

    @property
    def compared_systems(self) -> tuple[ComparedSystems, ...]:
        """Return what the tables compare that this one sums up, without the copied source."""
        return tuple(
            one.model_copy(update={"rows": tuple(row for row in one.rows if row.method != COPY)})
            for one in compared_systems(self, self.table.tables)
        )

    def rows(self) -> Iterator[tuple[TableRow, list[Run], int | None]]:
        """Yield the rows whose methods the study has, with their runs; rows with the same number are alternatives.

        For methods trained on one domain, the choice is made for each domain. Rows with `own_domain` are left out.
        """
        numbers = count(1)
        for row in (row for row in self.table.rows if not row.own_domain):
            rivals: dict[tuple[tuple[str, ...], str], list[list[Run]]] = {}
            for method in row.methods:
                of_row = [run.on(self.table.split) for run in runs_with_labels(self.study, self.task, row, method)]
                for runs in by_row(of_row).values():
                    rivals.setdefault((runs[0].domains, runs[0].labels), []).append(runs)
            for found in rivals.values():
                choice = next(numbers) if len(found) > 1 else None
                yield from ((row, runs, choice) for runs in found)

    def choice(self, choice: int | None, runs: list[Run]) -> dict[str, Any]:
        """Return the number of a row's choice, and the run.json files of its runs, which decide the choice."""
        if choice is None:
            return {}
        paths = [self.file(f"{self.places.run(run)}/run.json") for run in runs if run.spec is not None]
        return {"choice": choice, "records": tuple(path for path in paths if path is not None)}

    def score_row(self, row: TableRow, runs: list[Run], file: str = "scores.json") -> ScoreRow:
        """Return a row, with its label condition in its label and the row under gold labels to compare it with."""
        found = self.row_of(row.group, row.label or runs[0].label, runs, file)
        if row.labels == ("given",):
            return found
        changes = {"label": f"{found.label}, label {runs[0].labels}", "against": runs[0].directory}
        return found.model_copy(update=changes)

    def own_domain_rows(self, rows: Iterable[TableRow]) -> Iterator[ScoreRow]:
        """Yield one row for each method that the study has, with the models of its domains if it has one for each."""
        for row in rows:
            runs = by_row(run.on(self.table.split) for run in self.study.runs_of(self.task.name, row.method))
            found = [(of[0].domains, self._with_others(self.score_row(row, of), of)) for of in runs.values()]
            if found and self.study.methods[str(row.method)].train_on == "all":
                yield found[0][1]
            elif found:
                label = (row.label or self.study.methods[str(row.method)].label).replace("{domain}", "each domain")
                name = label[:1].upper() + label[1:]  # "Each domain only"
                models = {domain: model for (domain,), model in found}
                yield ScoreRow(group=row.group, label=name, method=str(row.method), models=models)

    def score_rows(self) -> list[ScoreRow]:
        """Return all rows of a table of scores: copied source, systems, those by domain, and external systems."""
        rows = self._copied() if self.table.split == "test" else []
        for row, runs, choice in self.rows():
            found = self._with_others(self.score_row(row, runs), runs)
            beside = {"printed": self.printed.scores(row, runs[0]), **self.choice(choice, runs)}
            rows.append(found.model_copy(update=beside))
        own_domain = self.own_domain_rows(row for row in self.table.rows if row.own_domain)
        return [*rows, *own_domain, *self._external()]

    def significance(self) -> tuple[Path | None, dict[str, str]]:
        """Return the file of the table's tests, and the hash of the options that it must have been made with."""
        if not is_tested(self.study, self.key):
            return None, {}
        options = options_hash(comparison(self.study, self.key, self.places))
        file = self.file(self.places.significance(self.key), options)
        return file, {str(file): options} if file else {}

    def predicted_labels(self) -> Path | None:
        """Return the file of predicted labels, if a row is translated with them."""
        is_predicted = self.task.spec is not None and any("predicted" in row.labels for row in self.table.rows)
        return self.file(self.places.labels(self.task.name)) if is_predicted else None

    def measured(self) -> dict[str, Any]:
        """Return the fields `measure`, `made_with` and `missing` of a spec, for the resources of the task's runs."""
        options = measure_options(self.study, self.task.name, self.places)
        return self.file_of_task("measure", self.places.measure(self.task.name), options)

    def _with_others(self, row: ScoreRow, runs: list[Run]) -> ScoreRow:
        """Return the row with the files of its other scores: other metrics, validation text."""
        run_of = {run.seed: run for run in runs if run.spec is not None}
        made = []
        for one in row.runs:
            if one.seed is None:
                continue
            run = run_of[one.seed]
            valid = f"{self.places.test(run.on('valid'))}/scores.json" if self.table.development else None
            others = self._beside(self.places.test(run), self.places.comet(run))
            changes = {"others": others, "development": self.file(valid) if valid else None}
            made.append(one.model_copy(update=changes))
        return row.model_copy(update={"runs": tuple(made)})

    def _beside(self, folder: str, comet: str) -> tuple[Path, ...]:
        """Return the files with the scores that the table shows but scores.json lacks.

        Args:
            folder: where translations and scores are.
            comet: the file with their COMET scores.
        """
        names = [name for name in self.table.metrics if METRICS[name].file != "scores.json"]
        files = [
            comet if name == "comet" else f"{folder}/{METRICS[name].file}"
            for name in names
            if name != "comet" or not self.study.no_comet
        ]
        return tuple(path for file in files if (path := self.file(file)))

    def _copied(self) -> list[ScoreRow]:
        """Return the row of the copied source, if the study wants it."""
        if not self.study.config.copy_source:
            return []
        file = f"{self.places.copied(self.task.name)}/scores.json"
        scores = self.file(file) if self.task.spec is not None else None
        runs = (ScoreRun(scores=scores),) if scores else ()
        missing = self.why_missing(runs)
        return [ScoreRow(group="No training", label="Copy the source", method=COPY, runs=runs, missing=missing)]

    def _external(self) -> Iterator[ScoreRow]:
        """Yield the rows of systems that are not trained here."""
        for system, outputs in external_of_table(self.study, self.key).items():
            found = [self._output(one) for one in outputs if self.task.spec is not None]
            runs = tuple(run for run in found if run is not None)
            yield ScoreRow(
                group="External systems",
                label=outputs[0].label,
                method=system,
                external="; ".join(map(one_line, outputs[0].config.known)),
                runs=runs,
                missing=self.why_missing(runs),
            )

    def _output(self, output: ExternalOutput) -> ScoreRun | None:
        folder = self.places.external(output)
        scores = self.file(f"{folder}/scores.json")
        others = self._beside(folder, external_comet(self.study, output, self.places))
        return ScoreRun(scores=scores, seed=output.number, others=others) if scores else None


class PrintedNumbers:
    """The numbers that the paper prints in one table; none if the study makes the table from another task."""

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
                    number = self._find(self._row(row, run), self._columns(domain), names)
                    if number is not None:
                        found[f"{prefix}{metric}/{domain}"] = number
        return found

    def resources(self, row: TableRow, run: Run) -> dict[str, Printed]:
        """Return quantity -> number; Phan 2022 calls the metric `time_per_step`, all others as we do."""
        numbers = {
            name: self._find(self._row(row, run), self._columns(name), (name, "time_per_step")) for name in QUANTITIES
        }
        return {name: number for name, number in numbers.items() if number is not None}

    def sentences(self, domain: str) -> dict[str, Printed]:
        """Return split -> number of sentences."""
        row, *_ = *self._columns(domain), ""
        numbers = {name: self._find(row, names, ("sentences",)) for name, names in SPLITS.items()}
        found = {name: number for name, number in numbers.items() if number is not None}
        remark = self.task.config.domains[domain].remark if domain in self.task.config.domains else None
        if remark and "test" in found:
            found["test"] = found["test"].model_copy(update={"note": remark})
        return found

    def _row(self, row: TableRow, run: Run) -> str:
        name = row.printed or row.label or run.label
        if "{domain}" not in name:
            return name
        column, *_ = *self._columns(run.domains[0]), run.domains[0]
        return name.replace("{domain}", column)

    def _columns(self, name: str) -> tuple[str, ...]:
        """Return what the paper calls the column of a domain of the task, or of a quantity."""
        config = self.task.config.domains.get(name)
        columns = self.table.printed_columns.get((config and config.stands_for) or name, ())
        return (columns,) if isinstance(columns, str) else columns

    def _find(self, row: str, columns: tuple[str, ...], metrics: tuple[str, ...]) -> Printed | None:
        if self.numbers is None or self.table.printed is None:
            return None
        for column in columns:
            for metric in metrics:
                number: PublishedNumber | None = self.numbers.find(self.table.printed, row, column, metric)
                if number is not None:
                    return Printed(value=number.value, raw=number.raw, star=number.star, note=number.note)
        return None
