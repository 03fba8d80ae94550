"""Decide the claims of one paper from the tables and figures of a study, and write the verdicts."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from mdnmt import provenance
from mdnmt.code_hash import code_hash
from mdnmt.config.claims import Claim, rule_modules
from mdnmt.exhibits.grid import Provenance
from mdnmt.exhibits.run_notes import notes_on
from mdnmt.fsio import require_options, sealed, write_sealed, write_text
from mdnmt.statements.claims.decide import decide
from mdnmt.statements.claims.markdown import to_markdown
from mdnmt.statements.claims.spec import ClaimsSpec


def claims_code(claims: Iterable[Claim]) -> str:
    """Return the hash of the code that decides claims, which is also that of their kinds of rules."""
    return code_hash(__name__, *rule_modules(claims))


def write_claims(spec: ClaimsSpec, json: Path, markdown: Path | None = None) -> None:
    """Decide the claims and write each with its verdict, as JSON and as a table in Markdown.

    Raises:
        DataError: a table or figure is missing, damaged, or made with other options.
    """
    require_options(spec.made_with)
    made = Provenance(**provenance.made_by(claims_code(spec.claims.values())))
    evidence = sealed(path for path in (*spec.tables.values(), *spec.figures.values()) if path)
    outcomes = decide(spec).model_copy(update={"made": made, "notes": tuple(notes_on(evidence))})
    write_sealed(json, outcomes.model_dump(mode="json"), evidence, made_with=spec.model_dump(mode="json"))
    if markdown is not None:
        write_text(markdown, to_markdown(outcomes))
