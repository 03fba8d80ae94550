"""The audit as Markdown, and as text for a terminal."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator

from mdnmt.errors import DataError
from mdnmt.statements.audit.finding import AuditResult, Finding, Status

BEGIN = "<!-- begin: written by `mdnmt audit --markdown docs/audit.md` -->"
END = "<!-- end -->"
OURS = "†"
FOUND_HERE = "found by this audit; the others had been found by reading the papers, before it was written"
# What was compared, in the order of the page.
KINDS = {
    "average": "average of a row",
    "delta": "difference to the baseline's row",
    "star": "star, not below the baseline",
    "total": "row of totals",
    "gain": "gain in a list of the text",
    "gains": "list of gains, of one model",
    "stated": "number that the text states",
    "range": "number within a stated range",
    "order": "row better than another",
    "distance": "number beside another",
    "same_row": "row in two tables",
    "names": "name in two tables",
    "parameters": "number of parameters",
    "size_ratio": "ratio of two models' sizes",
    "vocabulary": "sizes by one vocabulary",
    "peak": "formula",
}
TITLES: dict[Status, str] = {
    "inconsistent": "Does not agree",
    "noted": "Noted, not computed",
    "consistent": "Agrees",
}


def markdown(result: AuditResult) -> str:
    """Return the tables of docs/audit.md."""
    return (
        "\n".join([*_overview(result), *(line for paper in result.papers for line in _paper(paper, result.of(paper)))])
        + "\n"
    )


def into_page(page: str, tables: str, name: str) -> str:
    """Return a page whose text between the two markers is `tables`.

    Raises:
        DataError: the page does not have both markers, once each and in order.
    """
    if page.count(BEGIN) != 1 or page.count(END) != 1 or page.index(BEGIN) > page.index(END):
        raise DataError(f"{name}: expected the lines {BEGIN!r} and {END!r} once each, in this order; put them in")
    before, after = page.partition(BEGIN)[0], page.partition(END)[2]
    return f"{before}{BEGIN}\n\n{tables}\n{END}{after}"


def _overview(result: AuditResult) -> Iterator[str]:
    yield f"| compared | {' | '.join(result.papers)} |"
    yield f"|---|{'---:|' * len(result.papers)}"
    done = {(checked.paper, checked.kind): checked for checked in result.checked}
    for kind, title in KINDS.items():
        cells = [done.get((paper, kind)) for paper in result.papers]
        if any(cells):
            yield f"| {title} | {' | '.join(f'{cell.agreed} of {cell.compared}' if cell else '' for cell in cells)} |"
    total = [f"{of.agreed} of {of.compared}" for of in map(result.of, result.papers)]
    yield f"| **agree, in all** | {' | '.join(total)} |"
    yield from ("", f"{OURS} {FOUND_HERE}.")


def _paper(paper: str, audit: AuditResult) -> Iterator[str]:
    yield from ("", f"### {paper}", "")
    yield "; ".join(f"{title[:1].lower()}{title[1:]}: {audit.count(status)}" for status, title in TITLES.items()) + "."
    for status, title in TITLES.items():
        chosen = [finding for finding in audit.findings if finding.status == status]
        if chosen:
            recomputed = status != "noted"
            yield from ("", f"**{title}**", "")
            yield "| entry | where | printed |" + (" recomputed |" if recomputed else "") + " remark |"
            yield "|---|---|---|" + ("---|" if recomputed else "") + "---|"
            for finding in chosen:
                cells = [f"`{finding.id}`" + (f" {OURS}" if finding.ours else ""), finding.where, finding.printed]
                cells += [finding.recomputed or ""] if recomputed else []
                yield f"| {' | '.join(_escape(cell) for cell in [*cells, finding.comment])} |"


def _escape(text: str) -> str:
    return re.sub(r"([|*<])", r"\\\1", text)


def text(result: AuditResult, width: int) -> str:
    """Return the audit for a terminal of that width."""
    lines: list[str] = []
    for paper in result.papers:
        audit = result.of(paper)
        by_status = ", ".join(f"{audit.count(status)} {status}" for status in TITLES)
        lines += [f"{paper}: {by_status}; {audit.compared} comparisons", ""]
        for status in TITLES:
            for finding in audit.findings:
                if finding.status == status:
                    lines += _lines(finding, width)
        lines.append("")
    lines += textwrap.wrap(f"{OURS} {FOUND_HERE}", width)
    return "\n".join(lines) + "\n"


def _lines(finding: Finding, width: int) -> Iterator[str]:
    yield f"  {finding.status:<13} {finding.id}{f' {OURS}' if finding.ours else ''}"
    for name, value in (
        ("where", finding.where),
        ("print", finding.printed),
        ("found", finding.recomputed),
        ("so", finding.comment),
    ):
        if value:
            start = f"{'':16} {name:<5}  "
            yield from textwrap.wrap(value, width, initial_indent=start, subsequent_indent=" " * len(start))
