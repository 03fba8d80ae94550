"""Recompute the arithmetic of printed scores: of the papers, or of any table."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument("file", nargs="?", type=Path, metavar="FILE.tsv", help="a table of your own; none: the papers")
    parser.add_argument("--config", type=Path, default=Path("config"), metavar="DIR", help="default: %(default)s")
    parser.add_argument(
        "--paper", action="append", default=[], metavar="NAME", help="a file of config/audit/; can be repeated"
    )
    parser.add_argument("--json", type=Path, metavar="OUT", help="write the result here")
    parser.add_argument(
        "--markdown",
        type=Path,
        metavar="OUT",
        help="write its tables here, between the two markers if the page has them (docs/audit.md)",
    )


def run(args: argparse.Namespace) -> None:
    """Audit, and print the findings unless they go into a file."""
    import shutil

    from mdnmt import fsio, provenance
    from mdnmt.code_hash import code_hash
    from mdnmt.statements.audit import render_audit
    from mdnmt.statements.audit.audit import audit
    from mdnmt.statements.audit.printed_tables import load_inputs

    if args.file is not None:
        _audit_file(args)
        return
    result = audit(load_inputs(args.config, args.paper))
    if args.json:
        made = provenance.made_by(code_hash("mdnmt.commands.audit"))
        fsio.write_sealed(args.json, {**result.model_dump(mode="json"), "made": made})
        print(f"audit: {args.json}")
    if args.markdown:
        tables = render_audit.markdown(result)
        page = args.markdown.read_text(encoding="utf-8") if args.markdown.is_file() else ""
        marked = render_audit.BEGIN in page or render_audit.END in page
        fsio.write_text(args.markdown, render_audit.into_page(page, tables, str(args.markdown)) if marked else tables)
        print(f"audit: {args.markdown}")
    if not (args.json or args.markdown):
        print(render_audit.text(result, shutil.get_terminal_size((120, 24)).columns), end="")


def _audit_file(args: argparse.Namespace) -> None:
    from mdnmt import fsio
    from mdnmt.errors import ConfigError, printable_lines
    from mdnmt.statements.audit import score_sheet, score_sheet_checks

    if args.paper or args.markdown:
        raise ConfigError("--paper and --markdown belong to the audit of the papers; leave them out with a file")
    sheet = score_sheet.read(args.file)
    if args.json:
        fsio.write_json(args.json, score_sheet_checks.as_json(sheet))
        print(f"audit: {args.json}")
    else:
        print(printable_lines(score_sheet_checks.report(sheet)), end="")
