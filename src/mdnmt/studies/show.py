"""From a study to what the verbs `table`, `figure` and `report` are told."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

from mdnmt.config.paper import PaperFigure, PaperTable, TableRow
from mdnmt.paper import specs
from mdnmt.studies.places import Places
from mdnmt.studies.study import Run, Study, Task

COPY = "copy-source"
NOT_YET = "not made yet"


def paper_table(study: Study, key: str) -> tuple[PaperTable, Task]:
    """Return a table of the study, with the rows that the study adds, and the task it is made from."""
    paper, _, item = key.partition("-")
    table, shown = study.papers[paper].tables[item], study.config.tables[key]
    return table.model_copy(update={"rows": (*table.rows, *shown.rows)}), study.tasks[shown.task]


def paper_figure(study: Study, key: str) -> tuple[PaperFigure, Task]:
    """Return a figure of the study and the task it is made from."""
    paper, _, item = key.partition("-")
    return study.papers[paper].figures[item], study.tasks[study.config.figures[key].task]


def columns(task: Task) -> tuple[specs.Column, ...]:
    """Return the domains of a task as columns."""
    return tuple(specs.Column(name=name, label=name.capitalize()) for name in task.config.domains)


def task_title(study: Study, task: Task) -> str:
    """Return the task's title where a reader must be told which one is meant: in a study of several."""
    return task.config.title if len(study.tasks) > 1 else ""


def by_row(runs: Iterable[Run]) -> dict[str, list[Run]]:
    """Return runs by the row they stand in: one row a directory, with all its seeds."""
    rows: dict[str, list[Run]] = {}
    for run in runs:
        rows.setdefault(run.directory, []).append(run)
    return rows


def table_spec(study: Study, key: str, places: Places, *, partial: bool = False) -> specs.AnyTable:
    """Return the spec of one table; methods that the study does not have are left out and named.

    A partial one is made of the scores that are there at this moment.
    """
    table, task = paper_table(study, key)
    left_out = dict.fromkeys(name for row in table.rows for name in row.methods if name not in study.methods)
    notes = (f"Not part of this study: {', '.join(left_out)}.",) if left_out else ()
    if table.kind not in ("scores", "resources"):
        return _word_table(study, table, task, places, partial, notes)
    rows = list(_rows(study, table, task))
    if table.kind == "resources":
        return specs.ResourceTableSpec(
            title=table.title,
            task=task_title(study, task),
            rows=tuple(
                specs.ResourceRow(
                    group=row.group,
                    label=row.label or runs[0].label,
                    method=runs[0].directory,
                    missing=runs[0].missing,
                    **_choice(choice, runs, places, partial),
                )
                for row, runs, choice in rows
            ),
            measure=_path(places.measure(task.name), partial) if task.spec is not None else None,
            missing=task.missing or (NOT_YET if partial else None),
            baseline=study.config.comparison.baseline,
            baseline_label=study.methods[study.config.comparison.baseline].label,
            notes=notes,
        )
    return specs.ScoreTableSpec(
        title=table.title,
        task=task_title(study, task),
        columns=columns(task),
        rows=(
            *_copy_row(study, task, places, partial),
            *(
                _score_row(row.group, row.label or runs[0].label, runs[0].directory, runs, places, partial).model_copy(
                    update=_choice(choice, runs, places, partial)
                )
                for row, runs, choice in rows
            ),
        ),
        metrics=table.metrics,
        baseline=study.config.comparison.baseline,
        baseline_label=study.methods[study.config.comparison.baseline].label,
        significance=_path(places.significance(task.name), partial) if task.spec is not None else None,
        notes=notes,
    )


def _rows(study: Study, table: PaperTable, task: Task) -> Iterator[tuple[TableRow, list[Run], int | None]]:
    """Yield the rows whose methods the study has, with their runs; what shares a number is to be chosen from.

    A choice among methods trained on one domain is a choice for each domain.
    """
    numbers = count(1)
    for row in table.rows:
        rivals: dict[tuple[str, ...], list[list[Run]]] = {}
        for method in row.methods:
            for runs in by_row(study.runs_of(task.name, method)).values():
                rivals.setdefault(runs[0].domains, []).append(runs)
        for found in rivals.values():
            choice = next(numbers) if len(found) > 1 else None
            yield from ((row, runs, choice) for runs in found)


def _choice(choice: int | None, runs: list[Run], places: Places, partial: bool) -> dict[str, Any]:
    """Return what a row needs to be chosen by: the number of the choice and the run.json of its runs."""
    if choice is None:
        return {}
    paths = [_path(f"{places.run(run)}/run.json", partial) for run in runs if run.spec is not None]
    return {"choice": choice, "records": tuple(path for path in paths if path is not None)}


def _word_table(
    study: Study, table: PaperTable, task: Task, places: Places, partial: bool, notes: tuple[str, ...]
) -> specs.WordTableSpec:
    rows = []
    for row, runs, _ in _rows(study, table, task):
        label = row.label or runs[0].label
        made = _score_row(row.group, label, runs[0].directory, runs, places, partial, "words.json")
        rows.append(specs.WordRow(**dict(made), knows=row.knows))
    return specs.WordTableSpec.model_validate(
        {
            "kind": table.kind,
            "title": table.title,
            "task": task_title(study, task),
            "num_domains": len(task.config.domains),
            "rows": rows,
            "notes": notes,
        }
    )


def _path(path: str, partial: bool) -> Path | None:
    """Return the path; of a partial page only if the file is there."""
    return Path(path) if not partial or Path(path).exists() else None


def _copy_row(study: Study, task: Task, places: Places, partial: bool) -> list[specs.ScoreRow]:
    if not study.config.copy_source:
        return []
    scores = _path(f"{places.copied(task.name)}/scores.json", partial) if task.spec is not None else None
    runs = (specs.ScoreRun(scores=scores),) if scores else ()
    missing = None if runs else task.missing or NOT_YET
    return [specs.ScoreRow(group="No training", label="Copy the source", method=COPY, runs=runs, missing=missing)]


def _score_row(
    group: str, label: str, directory: str, runs: list[Run], places: Places, partial: bool, file: str = "scores.json"
) -> specs.ScoreRow:
    made = tuple(
        specs.ScoreRun(scores=scores, seed=run.seed)
        for run in runs
        if run.spec is not None and (scores := _path(f"{places.test(run)}/{file}", partial))
    )
    missing = None if made else runs[0].missing or NOT_YET
    return specs.ScoreRow(group=group, label=label, method=directory, runs=made, missing=missing)


def figure_spec(study: Study, key: str, places: Places, *, partial: bool = False) -> specs.AnyFigure:
    """Return the spec of one figure; analyses look at the first seed, curves at all."""
    figure, task = paper_figure(study, key)
    rows = [
        runs
        for method in figure.methods
        if method in study.methods
        for runs in by_row(study.runs_of(task.name, method)).values()
    ]
    where = task_title(study, task)
    if figure.kind == "curves":
        return specs.CurvesSpec(
            title=figure.title, task=where, systems=tuple(_curves(runs, places, partial) for runs in rows)
        )
    if figure.kind in ("word_sweep", "gate_use"):
        systems = tuple(
            specs.WordRow(**dict(_score_row("", runs[0].label, runs[0].directory, runs, places, partial, "words.json")))
            for runs in rows
        )
        if figure.kind == "gate_use":
            return specs.GateUseSpec(title=figure.title, task=where, systems=systems, domains=columns(task))
        return specs.SweepSpec(title=figure.title, task=where, systems=systems, num_domains=len(task.config.domains))
    analysed = tuple(_analysed(runs[0], places, partial) for runs in rows) or (
        specs.AnalysedRun(label=figure.methods[0], missing=f"needs {figure.methods[0]}, not part of this study"),
    )
    if figure.kind == "tsne":
        return specs.TsneSpec(title=figure.title, task=where, systems=analysed, domains=columns(task))
    kind = specs.HeatmapSpec if figure.kind == "proportion_heatmap" else specs.HistogramsSpec
    return kind(title=figure.title, task=where, run=analysed[0], domains=columns(task))


def _analysed(run: Run, places: Places, partial: bool) -> specs.AnalysedRun:
    folder = _path(places.analysis(run), partial) if run.spec is not None else None
    missing = None if folder else run.missing or NOT_YET
    return specs.AnalysedRun(label=run.label, analysis=folder, seed=run.seed, missing=missing)


def _curves(runs: list[Run], places: Places, partial: bool) -> specs.CurveSystem:
    made = tuple(
        specs.CurveRun(curves=curves, seed=run.seed)
        for run in runs
        if run.spec is not None and (curves := _path(f"{places.run(run)}/curves.tsv", partial))
    )
    missing = None if made else runs[0].missing or NOT_YET
    return specs.CurveSystem(label=runs[0].label, runs=made, missing=missing)


def report_spec(study: Study, places: Places, commands: tuple[str, ...], *, partial: bool = False) -> specs.ReportSpec:
    """Return the spec of the report; a partial one is made from whatever exists."""
    tables, figures = [], []
    for key in study.config.tables:
        table, task = paper_table(study, key)
        data = Path(places.table(key, "json"))
        tables.append(
            specs.ReportTable(
                id=key,
                title=table.title,
                task=task_title(study, task),
                kind=table.kind,
                data=data,
                missing=task.missing,
            )
        )
    for key in study.config.figures:
        figure, task = paper_figure(study, key)
        png = Path(places.figure(key, "png"))
        figures.append(
            specs.ReportFigure(
                id=key,
                title=figure.title,
                task=task_title(study, task),
                kind=figure.kind,
                png=png,
                caption=figure.caption,
                missing=task.missing,
            )
        )
    made = [task for task in study.tasks.values() if task.spec is not None]
    measured = [places.measure(task.name) for task in made]
    return specs.ReportSpec(
        study=study.name,
        title=study.config.title,
        introduction=study.config.description,
        tables=tuple(tables),
        figures=tuple(figures),
        tasks=tuple(_report_task(study, task, places) for task in made),
        corpora=tuple(_corpora(study)),
        runs=Path(places.runs_table),
        run_json=tuple(Path(places.run(run), "run.json") for run in study.makeable()),
        measure=Path(measured[0]) if measured else None,
        missing=tuple(_missing(study)),
        commands=commands,
        partial=partial,
    )


def _missing(study: Study) -> Iterable[specs.Missing]:
    for task in study.tasks.values():
        if task.missing is not None:
            yield specs.Missing(what=f"Task {task.name}", why=task.missing)
    shown = {name for key in study.config.tables for row in paper_table(study, key)[0].rows for name in row.methods}
    for name in study.methods:
        # Of a method that cannot be trained its runs say so.
        if name not in shown and any(run.method == name for run in study.makeable()):
            yield specs.Missing(what=f"Method {name}", why="is trained, but no table of this study has a row for it")
    used = {shown.task for shown in (*study.config.tables.values(), *study.config.figures.values())}
    for name in study.tasks:
        if name not in used:
            yield specs.Missing(what=f"Task {name}", why="no table or figure of this study is made from it")


def _report_task(study: Study, task: Task, places: Places) -> specs.ReportTask:
    systems = tuple(
        specs.SampleSystem(label=runs[0].label, test_dir=Path(places.test(runs[0]), "hyp"))
        for runs in by_row(study.runs_of(task.name)).values()
    )
    return specs.ReportTask(
        name=task.name,
        label=task.config.title,
        directory=Path(places.task(task.name)),
        source_lang=task.config.source_lang,
        target_lang=task.config.target_lang,
        domains=columns(task),
        systems=systems,
    )


def _corpora(study: Study) -> Iterable[specs.ReportCorpus]:
    seen = set()
    for task in study.tasks.values():
        for domain, config in task.config.domains.items():
            for name in config.corpora:
                if name in seen:
                    continue
                seen.add(name)
                corpus = task.corpora[name]
                source = corpus.source
                yield specs.ReportCorpus(
                    name=name,
                    label=corpus.title,
                    domain=domain,
                    version=getattr(source, "version", None) or "",
                    licence=corpus.licence,
                    citation=corpus.citation,
                    url=corpus.homepage,
                    sha256=_digest(task, name),
                )


def _digest(task: Task, name: str) -> str:
    """Return the sha256 of a corpus of one fetched file; none of a user's own folder, and of several files."""
    domains = task.spec.domains if task.spec is not None else ()
    found = [corpus.files for domain in domains for corpus in domain.corpora if corpus.name == name]
    if task.corpora[name].source.provider == "local" or not found or len(found[0]) != 1:
        return ""
    return found[0][0].sha256 or ""


def run_rows(study: Study, places: Places) -> list[dict[str, str]]:
    """Return the rows of runs.tsv; the state is found when the file is written."""
    return [
        {
            "task": run.task,
            "method": run.directory,
            "label": run.label,
            "domains": ",".join(run.domains),
            "seed": str(run.seed),
            "fingerprint": run.fingerprint,
            "run_dir": places.run(run) if run.spec is not None else "",
            "test_dir": places.test(run) if run.spec is not None else "",
            "reason": run.missing or "",
        }
        for run in study.runs
    ]
