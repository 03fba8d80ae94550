"""Prepare the verdicts on a paper's claims, and the audit of its own arithmetic, for the page."""

from __future__ import annotations

from mdnmt.report.plain_tables import NONE, Entry, PlainTable, any_number
from mdnmt.statements.audit.finding import AuditResult, Status
from mdnmt.statements.claims.outcome import Comparison, Outcome

TITLES: dict[Status, str] = {
    "inconsistent": "What does not agree",
    "noted": "What was noted, but cannot be computed",
    "consistent": "What agrees",
}


def claim_table(claim: Outcome) -> PlainTable | None:
    """Return the numbers of a claim; None if no comparison was made: then the reason of the verdict is enough."""
    if all(one.missing is not None for one in claim.comparisons):
        return None
    # Columns that are empty for all comparisons are left out.
    seeds = any(one.num_seeds is not None for one in claim.comparisons)
    widths = any(one.half_width is not None for one in claim.comparisons)
    headers = ["Comparison", "First", "Second", "Difference", *(["\N{PLUS-MINUS SIGN} 95 %"] if widths else [])]
    headers += [*(["Seeds"] if seeds else []), "Holds"]
    numeric = [header not in ("Comparison", "Holds") for header in headers]
    table = PlainTable(f"Numbers of the claim {claim.id}", headers, [], numeric, frozenset({"Comparison", "Holds"}))
    for one in claim.comparisons:
        row = [Entry(one.what), any_number(one.left), any_number(one.right), any_number(one.difference)]
        row += [any_number(one.half_width)] if widths else []
        row += [any_number(one.num_seeds)] if seeds else []
        table.rows.append([*row, Entry(_holds(one))])
    return table


def _holds(one: Comparison) -> str:
    if one.missing is not None:
        return "cannot be made"
    if one.holds is not None:
        return "yes" if one.holds else "no"
    so_far = "so far" if one.toward else "so far not"
    return f"open; {so_far}" + (f"; {one.doubt}" if one.doubt else "")


def audit_tables(audit: AuditResult) -> list[tuple[Status, PlainTable]]:
    """Return the findings by status, inconsistent ones first; a status without findings is left out."""
    found = []
    for status, title in TITLES.items():
        findings = [finding for finding in audit.findings if finding.status == status]
        recomputed = status != "noted"
        headers = ["Place", "Printed", *(["Recomputed"] if recomputed else []), "Remark"]
        rows = [
            [
                Entry(text)
                for text in (one.where, one.printed, *([one.recomputed or NONE] if recomputed else []), one.comment)
            ]
            for one in findings
        ]
        if rows:
            table = PlainTable(title, headers, rows, [False] * len(headers), frozenset(headers))
            found.append((status, table))
    return found
