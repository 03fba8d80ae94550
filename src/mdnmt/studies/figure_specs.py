"""From a study to what the verb `figure` is told."""

from __future__ import annotations

from typing import Any

from mdnmt.config.paper import PaperFigure
from mdnmt.config.run import RunSpec
from mdnmt.paper import specs
from mdnmt.studies.headings import is_of_pair
from mdnmt.studies.places import Places
from mdnmt.studies.shown import figure_of
from mdnmt.studies.study import Run, Study, Task
from mdnmt.studies.table_specs import NOT_YET, by_row, columns, existing, paper_table, score_row, task_title


def paper_figure(study: Study, key: str) -> tuple[PaperFigure, Task]:
    """Return a figure of the study and the task it is made from."""
    return figure_of(study.config, study.papers, key), study.tasks[study.config.figures[key].task]


def figure_spec(study: Study, key: str, places: Places, *, partial: bool = False) -> specs.AnyFigure:
    """Return the spec of one figure; pictures of the inside of a model are of the first seed, their numbers of all."""
    figure, task = paper_figure(study, key)
    rows = [
        runs
        for method in figure.methods
        if method in study.methods
        for runs in by_row(study.runs_of(task.name, method)).values()
    ]
    given: dict[str, Any] = {"kind": figure.kind, "title": figure.title, "task": task_title(study, task)}
    domains = columns(task)
    if figure.kind == "curves":
        panels = {"panels": figure.panels} if figure.panels else {}
        return specs.CurvesSpec(
            **given, **panels, x=figure.x, systems=tuple(_curves(runs, places, partial) for runs in rows)
        )
    if figure.kind == "architecture":
        built = tuple(_built(study, runs[0], runs[0].planned) for runs in rows if runs[0].planned is not None)
        return specs.ArchitectureSpec(**given, systems=built)
    if figure.kind == "ambiguity":
        path = existing(places.ambiguity(task.name), partial) if task.spec is not None else None
        named = tuple(
            specs.NamedSystem(label=runs[0].label, method=runs[0].directory, missing=runs[0].missing) for runs in rows
        )
        missing = None if path else task.missing or NOT_YET
        return specs.AmbiguitySpec(**given, systems=named, domains=domains, ambiguity=path, missing=missing)
    if figure.kind == "option_sweep":
        points = [(_option(runs[0]), runs) for runs in rows]
        return specs.OptionSweepSpec(
            **given,
            points=tuple(_point(value, runs, places, partial) for value, runs in points if value is not None),
            baseline=next((_point(0.0, runs, places, partial) for value, runs in points if value is None), None),
        )
    generated = tuple(
        specs.WordRow(**dict(score_row("", runs[0].label, runs, places, partial, "words.json"))) for runs in rows
    )
    if figure.kind == "word_sweep":
        return specs.SweepSpec(**given, systems=generated, num_domains=len(domains))
    if figure.kind == "gate_use" and figure.generated:
        return specs.GateUseSpec(**given, systems=generated, domains=domains)
    analysed = tuple(_analysed(runs, places, partial) for runs in rows) or (
        specs.AnalysedRun(label=figure.methods[0], missing=f"needs {figure.methods[0]}, not part of this study"),
    )
    if figure.kind == "gate_use":
        return specs.GateUseSpec(**given, analysed=analysed, domains=domains)
    if figure.kind == "tsne":
        return specs.TsneSpec(**given, systems=analysed, domains=domains)
    if figure.kind == "proportion_histograms":
        return specs.HistogramsSpec(**given, run=analysed[0], domains=domains)
    kind = specs.DomainAttentionSpec if figure.kind == "domain_attention" else specs.HeatmapSpec
    of_domain = [name for name, domain in task.config.domains.items() if (domain.stands_for or name) == figure.domain]
    return kind(**given, run=analysed[0], domains=domains, domain=of_domain[0] if of_domain else None)


def ambiguous_systems(study: Study, task: str) -> list[Run]:
    """Return the runs whose ambiguous words are looked at: those of figures and tables made from a task."""
    wanted = [
        method
        for key, shown in study.config.figures.items()
        if shown.task == task and paper_figure(study, key)[0].kind == "ambiguity"
        for method in paper_figure(study, key)[0].methods
    ]
    for key, shown in study.config.tables.items():
        table, _ = paper_table(study, key)
        if shown.task == task and table.kind == "examples":
            wanted += [method for row in table.rows for method in row.methods]
    return [run for method in dict.fromkeys(wanted) for run in study.makeable(task) if run.method == method]


def choice_spec(study: Study, task: str, places: Places) -> dict[str, Any]:
    """Return what the verb `ambiguity` is told of a task: whose translations are looked at."""
    systems = [
        {"method": run.directory, "label": run.label, "seed": run.seed, "folder": f"{places.test(run)}/hyp"}
        for run in ambiguous_systems(study, task)
    ]
    tables = [paper_table(study, key)[0] for key, shown in study.config.tables.items() if shown.task == task]
    config = study.tasks[task].config
    words = dict.fromkeys(word for table in tables if is_of_pair(table, config) for word in table.words)
    return {"systems": systems, **({"words": list(words)} if words else {})}


def _analysed(runs: list[Run], places: Places, partial: bool) -> specs.AnalysedRun:
    made = [
        specs.AnalysedSeed(analysis=folder, seed=run.seed)
        for run in runs
        if run.spec is not None and (folder := existing(places.analysis(run), partial))
    ]
    given: dict[str, Any] = {"label": runs[0].label, "method": runs[0].directory}
    if not made:
        return specs.AnalysedRun(**given, missing=runs[0].missing or NOT_YET)
    return specs.AnalysedRun(**given, analysis=made[0].analysis, seed=made[0].seed, repeats=tuple(made[1:]))


def _curves(runs: list[Run], places: Places, partial: bool) -> specs.CurveSystem:
    made = tuple(
        specs.CurveRun(curves=curves, seed=run.seed)
        for run in runs
        if run.spec is not None and (curves := existing(f"{places.run(run)}/curves.tsv", partial))
    )
    missing = None if made else runs[0].missing or NOT_YET
    return specs.CurveSystem(label=runs[0].label, method=runs[0].directory, runs=made, missing=missing)


def _option(run: Run) -> float | None:
    """Return the value of the option that a sweep is over; None of a system that does not have it."""
    value = run.planned.architecture.get("proportion_smoothing") if run.planned else None
    return None if value is None else float(value)


def _point(value: float, runs: list[Run], places: Places, partial: bool) -> specs.SweepPoint:
    made = tuple(
        specs.SweepRun(scores=scores, seed=run.seed, analysis=existing(places.analysis(run), partial))
        for run in runs
        if run.spec is not None and (scores := existing(f"{places.test(run)}/scores.json", partial))
    )
    missing = None if made else runs[0].missing or NOT_YET
    return specs.SweepPoint(value=value, label=runs[0].label, method=runs[0].directory, runs=made, missing=missing)


def _built(study: Study, run: Run, planned: RunSpec) -> specs.ArchitectureSystem:
    return specs.ArchitectureSystem(
        label=run.label,
        method=run.directory,
        builder=planned.builder,
        architecture=planned.architecture,
        num_domains=len(study.tasks[run.task].config.domains),
    )
