"""What the report of a study, and its list of runs, are made from."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from mdnmt.config.paper import PaperFigure, PaperTable
from mdnmt.exhibits.expected_options import of_exhibits
from mdnmt.exhibits.headings import depends_on_task, heading
from mdnmt.exhibits.request import by_row, columns, paper_figure, paper_table, task_title
from mdnmt.exhibits.rows import ReportRun
from mdnmt.fsio import options_hash
from mdnmt.report import contents
from mdnmt.statements.claims.selection import claims_spec
from mdnmt.statements.claims.write_claims import claims_code
from mdnmt.studies.result_paths import ResultPaths
from mdnmt.studies.study import Run, Study, Task
from mdnmt.studies.study_exhibits import split_key


def report_spec(
    study: Study, places: ResultPaths, commands: tuple[str, ...], *, partial: bool = False
) -> contents.ReportSpec:
    """Return the spec of the report; a partial report is made from whatever exists."""
    made = [task for task in study.tasks.values() if task.spec is not None]
    measured = [places.measure(task.name) for task in made]
    return contents.ReportSpec(
        study=study.name,
        title=study.config.title,
        introduction=study.config.description,
        papers=tuple(paper_section(study, name, places) for name in study.papers),
        tables=tuple(_report_table(study, key, places) for key in study.config.tables),
        figures=tuple(_report_figure(study, key, places) for key in study.config.figures),
        tasks=tuple(_report_task(study, task, places) for task in made),
        corpora=tuple(_corpora(study)),
        external=tuple(_external(study)),
        runs=Path(places.runs_table),
        measure=Path(measured[0]) if measured else None,
        missing=tuple(_missing(study)),
        commands=commands,
        made_with={} if partial else _made_with(study, places),
        partial=partial,
    )


def _made_with(study: Study, places: ResultPaths) -> dict[str, str]:
    """Return file -> hash of the options that it must be made with, for the study's files that the page reads."""
    found = of_exhibits(study, [*study.config.tables, *study.config.figures], places)
    for paper in study.papers:
        if claims := places.claims(paper):
            found[claims] = options_hash(claims_spec(study, paper, places).model_dump(mode="json"))
    return found


def paper_section(study: Study, name: str, places: ResultPaths) -> contents.ReportPaper:
    """Return a paper with all its tables and figures.

    Results come first: score tables, other tables, figures. Then the text that they were measured on, and what explains
    the method (notation, drawings of the model). Each kind is in the order of the paper's file, which is its own.
    """
    paper = study.papers[name]
    items: list[tuple[str, PaperTable | PaperFigure]] = [*paper.tables.items(), *paper.figures.items()]
    items.sort(key=lambda item: _rank(item[1]))
    claims, audit = places.claims(name), places.audit(name)
    return contents.ReportPaper(
        name=name,
        title=paper.title,
        citation=paper.citation,
        items=tuple(_item(study, f"{name}-{key}", item) for key, item in items),
        claims=Path(claims) if claims else None,
        claims_code=claims_code(study.claims[name].values()) if claims else "",
        audit=Path(audit) if audit else None,
    )


def _rank(item: PaperTable | PaperFigure) -> int:
    """Return the rank of a kind of table or figure: lower ranks come first on the page."""
    if not depends_on_task(item):
        return 4
    if isinstance(item, PaperFigure):
        return 2
    return {"scores": 0, "corpora": 3}.get(item.kind, 1)


def _item(study: Study, key: str, item: PaperTable | PaperFigure) -> contents.ReportExhibit:
    """Return the entry of a table or figure; it has no id if the study does not show it."""
    kind, shown = ("table", study.config.tables) if isinstance(item, PaperTable) else ("figure", study.config.figures)
    task = study.tasks[shown[key].task] if key in shown else None
    where = _where(study, key, item, task)
    return contents.ReportExhibit.model_validate(
        {"kind": kind, "where": where, "title": item.title, "id": key if key in shown else None}
    )


def _where(study: Study, key: str, item: PaperTable | PaperFigure, task: Task | None) -> str:
    paper, _ = split_key(key)
    return heading(paper, study.papers[paper], item, task.config if task else None)


def citation(study: Study, key: str) -> str:
    """Return the paper of a table or figure, as it is cited."""
    return study.papers[split_key(key)[0]].citation


def labels(study: Study, key: str) -> dict[str, str]:
    """Return the place of a table or figure in its paper, its title, and what it is made from."""
    item: PaperTable | PaperFigure
    item, task = paper_table(study, key) if key in study.config.tables else paper_figure(study, key)
    return {"place": _where(study, key, item, task), "title": item.title, "text": task.config.title}


def _report_table(study: Study, key: str, places: ResultPaths) -> contents.ReportTable:
    table, task = paper_table(study, key)
    measured: tuple[ReportRun, ...] = ()
    if table.kind == "resources":
        systems = by_row(run for row in table.rows for name in row.methods for run in study.runs_of(task.name, name))
        measured = tuple(_report_run(runs[0], places) for runs in systems.values() if runs[0].spec is not None)
    return contents.ReportTable(
        id=key,
        title=table.title,
        task=task_title(study, task),
        kind=table.kind,
        data=Path(places.table(key, "json")),
        runs=measured,
        missing=task.missing,
    )


def _report_figure(study: Study, key: str, places: ResultPaths) -> contents.ReportFigure:
    figure, task = paper_figure(study, key)
    runs = [run for method in figure.methods for run in study.runs_of(task.name, method) if run.spec is not None]
    return contents.ReportFigure(
        id=key,
        title=figure.title,
        task=task_title(study, task),
        kind=figure.kind,
        where=_where(study, key, figure, task),
        png=Path(places.figure(key, "png")),
        numbers=Path(places.figure(key, "json")),
        caption=figure.caption,
        runs=tuple(_report_run(run, places) for run in runs) if depends_on_task(figure) else (),
        missing=task.missing,
    )


def _report_run(run: Run, places: ResultPaths) -> ReportRun:
    return ReportRun(method=run.directory, label=run.label, seed=run.seed, folder=Path(places.run(run)))


def _missing(study: Study) -> Iterable[tuple[str, str]]:
    for task in study.tasks.values():
        if task.missing is not None:
            yield f"Task {task.name}", task.missing
    shown = {name for key in study.config.tables for row in paper_table(study, key)[0].rows for name in row.methods}
    for name in study.methods:
        # If a method cannot be trained, its runs give the reason.
        if name not in shown and any(run.method == name for run in study.makeable()):
            yield f"Method {name}", "is trained, but no table of this study has a row for it"
    used = {shown.task for shown in (*study.config.tables.values(), *study.config.figures.values())}
    for name in study.tasks:
        if name not in used:
            yield f"Task {name}", "no table or figure of this study is made from it"


def _report_task(study: Study, task: Task, places: ResultPaths) -> contents.ReportTask:
    systems = [(runs[0].label, Path(places.test(runs[0]), "hyp")) for runs in by_row(study.runs_of(task.name)).values()]
    systems += [
        (one.label, Path(places.external(one), "hyp"))
        for one in study.external
        if one.task == task.name and one.number == 1
    ]
    return contents.ReportTask(
        name=task.name,
        label=task.config.title,
        directory=Path(places.task(task.name)),
        source_lang=task.config.source_lang,
        target_lang=task.config.target_lang,
        domains=columns(task),
        systems=tuple(systems),
    )


def _external(study: Study) -> Iterable[contents.ReportExternal]:
    for name, system in study.config.external.items():
        for task in system.hypotheses:
            outputs = [one for one in study.external if (one.system, one.task) == (name, task)]
            yield contents.ReportExternal(
                label=system.label,
                task=study.tasks[task].config.title,
                provenance="\n".join(system.known),
                redistributable=system.redistributable,
                files=tuple(
                    ((one.folder / file).as_posix(), sha256) for one in outputs for file, sha256 in one.sums.items()
                ),
            )


def _corpora(study: Study) -> Iterable[contents.ReportCorpus]:
    seen = set()
    for task in study.tasks.values():
        for domain, config in task.config.domains.items():
            for name in config.corpora:
                if name in seen:
                    continue
                seen.add(name)
                corpus = task.corpora[name]
                source = corpus.source
                yield contents.ReportCorpus(
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
    """Return the sha256 of a corpus of one fetched file; empty for a user's own folder and for several files."""
    domains = task.spec.domains if task.spec is not None else ()
    found = [corpus.files for domain in domains for corpus in domain.corpora if corpus.name == name]
    if task.corpora[name].source.provider == "local" or not found or len(found[0]) != 1:
        return ""
    return found[0][0].sha256 or ""


def run_rows(study: Study, places: ResultPaths) -> list[dict[str, str]]:
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
