"""Decide the claims of one paper from the tables and figures that were made."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the verb."""
    parser.add_argument("--spec", required=True, help="the claims and where their evidence is (mdnmt.claims.spec)")
    parser.add_argument("--json", type=Path, required=True, help="write every claim with its verdict here")
    parser.add_argument("--markdown", type=Path, help="write the same as a Markdown table here")


def run(args: argparse.Namespace) -> None:
    """Decide the claims and write what was asked for."""
    from mdnmt import provenance
    from mdnmt.claims.decide import decide
    from mdnmt.claims.markdown import to_markdown
    from mdnmt.claims.spec import ClaimsSpec
    from mdnmt.code_hash import code_hash
    from mdnmt.config.loader import parse_spec
    from mdnmt.fsio import write_sealed, write_text
    from mdnmt.paper.made import Made

    made = Made(**provenance.made_by(code_hash("mdnmt.commands.claims")))
    outcomes = decide(parse_spec(args.spec, ClaimsSpec)).model_copy(update={"made": made})
    write_sealed(args.json, outcomes.model_dump(mode="json"))
    if args.markdown is not None:
        write_text(args.markdown, to_markdown(outcomes))
