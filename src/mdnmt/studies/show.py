"""From a study to what the verbs `table`, `figure` and `report` are told."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from mdnmt.config.paper import PaperFigure, PaperTable
from mdnmt.paper import specs
from mdnmt.studies.places import Places
from mdnmt.studies.study import Run, Study, Task

COPY = "copy-source"


def paper_table(study: Study, key: str) -> tuple[PaperTable, Task]:
    """Return a table of the study and the task it is made from."""
    paper, _, item = key.partition("-")
    return study.papers[paper].tables[item], study.tasks[study.config.tables[key].task]


def paper_figure(study: Study, key: str) -> tuple[PaperFigure, Task]:
    """Return a figure of the study and the task it is made from."""
    paper, _, item = key.partition("-")
    return study.papers[paper].figures[item], study.tasks[study.config.figures[key].task]


def columns(task: Task) -> tuple[specs.Column, ...]:
    """Return the domains of a task as columns."""
    return tuple(specs.Column(name=name, label=name.capitalize()) for name in task.config.domains)


def by_row(runs: Iterable[Run]) -> dict[str, list[Run]]:
    """Return runs by the row they stand in: one row a directory, with all its seeds."""
    rows: dict[str, list[Run]] = {}
    for run in runs:
        rows.setdefault(run.directory, []).append(run)
    return rows


def table_spec(study: Study, key: str, places: Places) -> specs.ScoreTableSpec | specs.ResourceTableSpec:
    """Return the spec of one table; rows of methods that the study does not have are left out and named."""
    table, task = paper_table(study, key)
    left_out = [row.method for row in table.rows if row.method not in study.methods]
    notes = (f"Not part of this study: {', '.join(left_out)}.",) if left_out else ()
    rows = [
        (row.group, row.label or runs[0].label, directory, runs)
        for row in table.rows
        if row.method in study.methods
        for directory, runs in by_row(study.runs_of(task.name, row.method)).items()
    ]
    if table.kind == "resources":
        return specs.ResourceTableSpec(
            title=table.title,
            rows=tuple(
                specs.ResourceRow(group=group, label=label, method=directory, missing=runs[0].missing)
                for group, label, directory, runs in rows
            ),
            measure=Path(places.measure(task.name)) if task.spec is not None else None,
            missing=task.missing,
            baseline=study.config.comparison.baseline,
            notes=notes,
        )
    return specs.ScoreTableSpec(
        title=table.title,
        columns=columns(task),
        rows=(
            *_copy_row(study, task, places),
            *(_score_row(group, label, directory, runs, places) for group, label, directory, runs in rows),
        ),
        metrics=table.metrics,
        baseline=study.config.comparison.baseline,
        significance=Path(places.significance(task.name)) if task.spec is not None else None,
        notes=notes,
    )


def _copy_row(study: Study, task: Task, places: Places) -> list[specs.ScoreRow]:
    if not study.config.copy_source:
        return []
    runs = (specs.ScoreRun(scores=Path(places.copied(task.name), "scores.json")),) if task.spec is not None else ()
    return [specs.ScoreRow(group="No training", label="Copy the source", method=COPY, runs=runs, missing=task.missing)]


def _score_row(group: str, label: str, directory: str, runs: list[Run], places: Places) -> specs.ScoreRow:
    made = tuple(
        specs.ScoreRun(scores=Path(places.test(run), "scores.json"), seed=run.seed)
        for run in runs
        if run.spec is not None
    )
    missing = None if made else runs[0].missing
    return specs.ScoreRow(group=group, label=label, method=directory, runs=made, missing=missing)


def figure_spec(
    study: Study, key: str, places: Places
) -> specs.HeatmapSpec | specs.HistogramsSpec | specs.TsneSpec | specs.CurvesSpec:
    """Return the spec of one figure; analyses look at the first seed, curves at all."""
    figure, task = paper_figure(study, key)
    rows = [
        runs
        for method in figure.methods
        if method in study.methods
        for runs in by_row(study.runs_of(task.name, method)).values()
    ]
    if figure.kind == "curves":
        return specs.CurvesSpec(title=figure.title, systems=tuple(_curves(runs, places) for runs in rows))
    analysed = tuple(
        specs.AnalysedRun(label=runs[0].label, analysis=Path(places.analysis(runs[0])))
        if runs[0].spec is not None
        else specs.AnalysedRun(label=runs[0].label, missing=runs[0].missing)
        for runs in rows
    ) or (specs.AnalysedRun(label=figure.methods[0], missing=f"needs {figure.methods[0]}, not part of this study"),)
    if figure.kind == "tsne":
        return specs.TsneSpec(title=figure.title, systems=analysed, domains=columns(task))
    kind = specs.HeatmapSpec if figure.kind == "proportion_heatmap" else specs.HistogramsSpec
    return kind(title=figure.title, run=analysed[0], domains=columns(task))


def _curves(runs: list[Run], places: Places) -> specs.CurveSystem:
    made = tuple(
        specs.CurveRun(curves=Path(places.run(run), "curves.tsv"), seed=run.seed)
        for run in runs
        if run.spec is not None
    )
    return specs.CurveSystem(label=runs[0].label, runs=made, missing=None if made else runs[0].missing)


def report_spec(study: Study, places: Places, commands: tuple[str, ...], *, partial: bool = False) -> specs.ReportSpec:
    """Return the spec of the report; a partial one is made from whatever exists."""
    tables, figures = [], []
    for key in study.config.tables:
        table, task = paper_table(study, key)
        data = Path(places.table(key, "json"))
        tables.append(specs.ReportTable(id=key, title=table.title, kind=table.kind, data=data, missing=task.missing))
    for key in study.config.figures:
        figure, task = paper_figure(study, key)
        png = Path(places.figure(key, "png"))
        figures.append(
            specs.ReportFigure(
                id=key, title=figure.title, kind=figure.kind, png=png, caption=figure.caption, missing=task.missing
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
        missing=tuple(
            specs.Missing(what=f"Task {task.name}", why=task.missing)
            for task in study.tasks.values()
            if task.missing is not None
        ),
        commands=commands,
        partial=partial,
    )


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
                    version=getattr(source, "version", ""),
                    licence=corpus.licence,
                    citation=corpus.citation,
                    url=corpus.homepage,
                    sha256=getattr(source, "sha256", ""),
                )


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
