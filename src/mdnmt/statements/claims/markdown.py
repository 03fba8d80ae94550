"""Render the outcomes of a paper's claims as Markdown."""

from __future__ import annotations

from mdnmt.escape import markdown
from mdnmt.numbers.verdicts import VERDICTS
from mdnmt.statements.claims.outcome import Outcomes


def to_markdown(outcomes: Outcomes) -> str:
    """Return the verdict on every claim as a table, the counts above it."""
    counts = ", ".join(f"{outcomes.counts.get(verdict, 0)} {verdict}" for verdict in VERDICTS)
    lines = [f"# Claims: {markdown(outcomes.title)}", "", f"{counts}.", ""]
    lines += [line for note in outcomes.notes for line in (markdown(note), "")]
    lines += ["| claim | place | says | verdict | reason |", "|---|---|---|---|---|"]
    for one in outcomes.outcomes:
        reason = f"{one.reason}; on other text: {one.on_other_text}" if one.on_other_text else one.reason
        cells = [f"`{one.id}`", *(markdown(text) for text in (one.where, one.says, one.verdict, reason))]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"
