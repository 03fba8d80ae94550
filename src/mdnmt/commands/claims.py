"""Decide the claims of one paper from the tables and figures of a study."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the verb."""
    parser.add_argument(
        "--spec", required=True, help="the claims and where their evidence is (mdnmt.statements.claims)"
    )
    parser.add_argument("--json", type=Path, required=True, help="write every claim with its verdict here")
    parser.add_argument("--markdown", type=Path, help="write the same as a Markdown table here")


def run(args: argparse.Namespace) -> None:
    """Decide the claims and write what was asked for."""
    from mdnmt import provenance
    from mdnmt.code_hash import code_hash
    from mdnmt.config.loader import parse_spec
    from mdnmt.exhibits.grid import Provenance
    from mdnmt.exhibits.run_notes import notes_on
    from mdnmt.fsio import require_options, sealed, write_sealed, write_text
    from mdnmt.statements.claims.decide import decide
    from mdnmt.statements.claims.markdown import to_markdown
    from mdnmt.statements.claims.spec import ClaimsSpec

    spec = parse_spec(args.spec, ClaimsSpec)
    require_options(spec.made_with)
    made = Provenance(**provenance.made_by(code_hash("mdnmt.commands.claims")))
    evidence = sealed(path for path in (*spec.tables.values(), *spec.figures.values()) if path)
    outcomes = decide(spec).model_copy(update={"made": made, "notes": tuple(notes_on(evidence))})
    write_sealed(args.json, outcomes.model_dump(mode="json"), evidence, made_with=spec.model_dump(mode="json"))
    if args.markdown is not None:
        write_text(args.markdown, to_markdown(outcomes))
