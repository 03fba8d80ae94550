"""Build the report: one self-contained HTML page that fetches nothing and says what is missing."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from mdnmt import provenance
from mdnmt.config.margin import Margin
from mdnmt.exhibits.published_cells import SIGNS, verdict_rules
from mdnmt.exhibits.seed_scores import task_ceilings
from mdnmt.numbers.rounding import duration, half_up
from mdnmt.numbers.verdicts import VERDICTS
from mdnmt.report import plain_tables, sample_translations
from mdnmt.report.contents import ReportSpec, ReportTask
from mdnmt.report.sample_translations import Sample
from mdnmt.report.sections import curve, exhibit_sections, papers, run_details, runs
from mdnmt.report.sections.origins import origins
from mdnmt.report.sections.papers import Section
from mdnmt.report.templates import environment, read_part

_PARTS = "mdnmt.report.sections"
# With more than this, summaries of tables and sample translations are collapsed.
MANY_TABLES, MANY_OUTPUTS = 4, 120
RULES_IN_SHORT = {
    **verdict_rules("scores", Margin()),
    "not reproduced": "the interval lies outside these bounds altogether",
    "not comparable": "corpus, split or metric is not the paper's, so the two numbers cannot be compared",
    "not tested": "only of claims: a choice of ours, not the method, decides the outcome; the reason names it",
}


@dataclass(frozen=True)
class TaskSection:
    """A task: statistics of its text, and its sample translations."""

    task: ReportTask
    fingerprint: str
    stats: plain_tables.PlainTable | None
    leakage: plain_tables.PlainTable | None
    ceilings: str  # BLEU of a perfect system in each domain; empty: not scored yet
    samples: dict[str, list[Sample]]  # domain -> sentences

    def label(self, domain: str) -> str:
        """Return the label of a domain."""
        return next(column.label for column in self.task.domains if column.name == domain)


def _task(task: ReportTask) -> TaskSection:
    stats = plain_tables.optional_json(task.directory / "stats.json")
    leaks, of = plain_tables.optional_json(task.directory / "leakage.json"), task_ceilings(task.directory)
    found = {domain.name: sample_translations.collect(task, domain.name) for domain in task.domains}
    return TaskSection(
        task=task,
        fingerprint=(plain_tables.optional_json(task.directory / "task.json") or {}).get("fingerprint", ""),
        stats=plain_tables.statistics(stats, task.domains) if stats else None,
        leakage=plain_tables.leakage(leaks, task.domains) if leaks else None,
        ceilings=", ".join(
            f"{domain.label} {half_up(of[domain.name]['bleu'], 1)}"
            for domain in task.domains
            if "bleu" in of.get(domain.name, {})
        ),
        samples={domain: chosen for domain, chosen in found.items() if chosen},
    )


def _missing(
    spec: ReportSpec, records: list[runs.RunRecord], shown: list[exhibit_sections.Item], sections: list[Section]
) -> list[tuple[str, str]]:
    """Return everything that is missing, each once, with the reason."""
    found = [*spec.missing, *runs.missing(records)]
    for item in shown:
        kind = "Table" if item.is_table else "Figure"
        found += [(f"{kind}: {item.title}", item.missing)] if item.missing else []
    for one in sections:
        found += [(f"Claims of {one.citation}", one.claims_missing)] if one.claims_missing else []
        found += [(f"Audit of {one.citation}", one.audit_missing)] if one.audit_missing else []
    return list(dict.fromkeys(found))


def _state(spec: ReportSpec, records: list[runs.RunRecord]) -> list[tuple[str, str]]:
    """Return the facts at the head of the page."""
    hardware = (plain_tables.optional_json(spec.measure) or {}).get("hardware") or {}
    machines = runs.machines(records)
    if not machines and "cpu" in hardware:
        machines = [f"{hardware['cpu']}, {hardware.get('cores', '?')} cores"]
    if hardware.get("device", "cpu") != "cpu":
        machines = [*machines, str(hardware.get("gpu") or hardware["device"])]
    made = [record.made for record in records if record.made is not None]
    state = [("Study", spec.study)]
    if records:
        state.append(("Runs", f"{len(made)} of {len(records)} done"))
    if seeds := sorted({int(run["seed"]) for run in made if isinstance(run.get("seed"), int)}):
        listed = f"{len(seeds)} ({', '.join(map(str, seeds))})"
        state.append(("Seeds", listed if len(seeds) > 1 else "1, so no spread"))
    if machines:
        state.append(("Hardware", "; ".join(machines)))
    if seconds := sum(float(run.get("seconds") or 0.0) for run in made):
        state.append(("Training, all runs", duration(seconds)))
    return state


def _policy(style: str, script: str) -> str:
    """Return a content security policy that allows only this page's own style and script and embedded pictures."""

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


def _context(spec: ReportSpec) -> dict[str, Any]:
    """Return the variables of the templates."""
    records = runs.read_runs(spec.runs)
    links = runs.links(records)
    tasks = [_task(task) for task in spec.tasks]
    shown: dict[str, exhibit_sections.Item] = {}
    shown |= {table.id: exhibit_sections.table(table, links) for table in spec.tables}
    shown |= {figure.id: exhibit_sections.figure(figure, links) for figure in spec.figures}
    sections = [papers.section(paper, shown, partial=spec.partial) for paper in spec.papers]
    by_name = {one.task.name: one for one in tasks}
    software = run_details.Software()
    details = []
    for record in records:
        if record.made is not None:
            task = by_name.get(record.line["task"])
            given, chosen = (task.task, task.samples) if task is not None else (None, {})
            details.append(run_details.detail(record, given, chosen, software))
    made = provenance.collect()
    readings = sum(
        isinstance(item, exhibit_sections.TableSection) and item.reading is not None for item in shown.values()
    )
    outputs = sum(len(sample.outputs) for one in tasks for found in one.samples.values() for sample in found)
    return {
        "spec": spec,
        "state": _state(spec, records),
        "sections": sections,
        "elsewhere": papers.elsewhere(spec.papers, shown),
        "rebuilt": papers.rebuilt(sections),
        "verdicts": papers.verdicts(sections),
        "rules": [(verdict, RULES_IN_SHORT[verdict]) for verdict in VERDICTS],
        "anchors": set(shown),
        "fold_readings": readings > MANY_TABLES,
        "fold_samples": outputs > MANY_OUTPUTS,
        "tasks": tasks,
        "draw": sample_translations,
        "runs": runs.table(records),
        "details": details,
        "software": software.sets,
        "missing": _missing(spec, records, list(shown.values()), sections),
        "link": lambda url: url if url.startswith(("https://", "http://")) else "",
        "signs": SIGNS,
        "sample_anchor": run_details.sample_anchor,
        "curve_size": (curve.WIDTH, curve.HEIGHT),
        "made": made,
        "origins": origins(spec, records, made),
        "run_notes": runs.notes(records),
    }


def render(spec: ReportSpec) -> str:
    """Return the page as HTML.

    Raises:
        DataError: the file of a table, of claims or of an audit is invalid.
    """
    style, script = read_part(_PARTS, "page.css"), read_part(_PARTS, "page.js")
    return (
        environment(_PARTS)
        .get_template("page.html.j2")
        .render(
            **_context(spec),
            style=Markup(style),
            script=Markup(script),
            policy=_policy(style, script),
        )
    )
