"""Build the one page that a person reads: everything inside it, nothing fetched, honest about what is absent."""

from __future__ import annotations

import base64
import hashlib
from importlib import resources
from typing import Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from mdnmt import provenance
from mdnmt.paper import facts, reading, render_html, samples
from mdnmt.paper.grid import read_grid
from mdnmt.paper.numbers import duration
from mdnmt.paper.specs import ReportFigure, ReportSpec, ReportTable, ReportTask

NOT_MADE = "not made yet"


def _table(table: ReportTable) -> dict[str, Any]:
    shown: dict[str, Any] = {"id": table.id, "title": table.full_title, "caption": table.caption, "missing": None}
    if not table.data.is_file():
        return {**shown, "missing": table.missing or NOT_MADE}
    grid = read_grid(table.data)
    # Drawn here from the checked numbers, by the function that escapes every text.
    drawn = Markup(render_html.to_html(grid))
    return {**shown, "html": drawn, "reading": reading.read(grid) if grid.kind == "scores" else None}


def _figure(figure: ReportFigure) -> dict[str, Any]:
    from PIL import Image

    shown: dict[str, Any] = {"id": figure.id, "title": figure.full_title, "caption": figure.caption, "missing": None}
    if not figure.png.is_file():
        return {**shown, "missing": figure.missing or NOT_MADE}
    data = figure.png.read_bytes()
    with Image.open(figure.png) as picture:
        width, height = picture.size
        words = str(getattr(picture, "text", {}).get("Description", ""))
    reason = words.removeprefix("Not drawn: ") if words.startswith("Not drawn: ") else None
    return {
        **shown,
        "missing": figure.missing or reason,
        "source": f"data:image/png;base64,{base64.b64encode(data).decode('ascii')}",
        "alt": figure.alt or words or figure.full_title,
        "width": width // 2,
        "height": height // 2,
    }


def _task(task: ReportTask, spec: ReportSpec) -> dict[str, Any]:
    stats = facts.optional_json(task.directory / "stats.json")
    leaks = facts.optional_json(task.directory / "leakage.json")
    return {
        "name": task.name,
        "label": task.label,
        "directory": task.directory.name,
        "fingerprint": (facts.optional_json(task.directory / "task.json") or {}).get("fingerprint", ""),
        "source_lang": task.source_lang,
        "target_lang": task.target_lang,
        "stats": facts.statistics(stats, task.domains) if stats else None,
        "leakage": facts.leakage(leaks, task.domains) if leaks else None,
        "samples": [(d.label, found) for d in task.domains if (found := samples.collect(task, d.name, spec.samples))],
    }


def _missing(
    spec: ReportSpec, runs: facts.Runs, tables: list[dict[str, Any]], figures: list[dict[str, Any]]
) -> list[tuple[str, str]]:
    """Return everything that is absent and why, each once."""
    found = [(item.what, item.why) for item in spec.missing] + runs.missing
    found += [(f"Corpus {corpus.label}", corpus.missing) for corpus in spec.corpora if corpus.missing]
    found += [(f"Table: {table['title']}", table["missing"]) for table in tables if table["missing"]]
    found += [(f"Figure: {figure['title']}", figure["missing"]) for figure in figures if figure["missing"]]
    for task in spec.tasks:
        found += [(f"Translations of {s.label}", s.missing) for s in task.systems if s.missing]
    return list(dict.fromkeys(found))


def _state(spec: ReportSpec, runs: facts.Runs) -> list[tuple[str, str]]:
    """Return the facts at the head of the page."""
    measured = facts.optional_json(spec.measure) or {}
    hardware = measured.get("hardware") or {}
    machines = runs.machines or (
        [f"{hardware['cpu']}, {hardware.get('cores', '?')} cores"] if "cpu" in hardware else []
    )
    if hardware.get("device", "cpu") != "cpu":
        machines = [*machines, str(hardware.get("gpu") or hardware["device"])]
    state = [("Study", spec.study)]
    if runs.total:
        state.append(("Runs", f"{runs.done} of {runs.total} done"))
    if runs.seeds:
        listed = f"{len(runs.seeds)} ({', '.join(map(str, runs.seeds))})"
        state.append(("Seeds", listed if len(runs.seeds) > 1 else "1, so no spread"))
    if machines:
        state.append(("Hardware", "; ".join(machines)))
    if runs.seconds:
        state.append(("Training, all runs", duration(runs.seconds)))
    return state


def _policy(style: str, script: str) -> str:
    """Return a content security policy that lets in this page's own style and script and embedded pictures alone."""

    def digest(text: str) -> str:
        return base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")

    rules = (
        "default-src 'none'",
        "img-src data:",
        f"style-src 'sha256-{digest(style)}'",
        f"script-src 'sha256-{digest(script)}'",
        "base-uri 'none'",
        "form-action 'none'",
    )
    return "; ".join(rules)


def render(spec: ReportSpec) -> str:
    """Return the page as HTML.

    Raises:
        DataError: a table's file is not one that `mdnmt table` wrote.
    """
    package = resources.files("mdnmt.paper")
    template, style, script = (
        package.joinpath(name).read_text(encoding="utf-8") for name in ("report.html.j2", "report.css", "report.js")
    )
    runs = facts.runs(spec.runs, spec.run_json)
    tables = {table.id: (table, _table(table)) for table in spec.tables}
    figures = [(figure, _figure(figure)) for figure in spec.figures]
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.globals["link"] = lambda url: url if url.startswith(("https://", "http://")) else ""
    return environment.from_string(template).render(
        spec=spec,
        style=Markup(style),
        script=Markup(script),
        policy=_policy(style, script),
        state=_state(spec, runs),
        results=[shown for table, shown in tables.values() if table.kind != "resources"],
        resources=[shown for table, shown in tables.values() if table.kind == "resources"],
        figures=[shown for figure, shown in figures if figure.kind != "curves"],
        curves=[shown for figure, shown in figures if figure.kind == "curves"],
        tasks=[_task(task, spec) for task in spec.tasks],
        runs=runs.table,
        missing=_missing(spec, runs, [s for _, s in tables.values()], [s for _, s in figures]),
        made=provenance.collect(),
    )
