"""Recompute the papers' own arithmetic from the numbers that they print."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument("--config", type=Path, default=Path("config"), metavar="DIR", help="default: %(default)s")
    parser.add_argument(
        "--paper", action="append", default=[], metavar="NAME", help="a file of config/audit/; again for more"
    )
    parser.add_argument("--json", type=Path, metavar="OUT", help="write the result here")
    parser.add_argument(
        "--markdown",
        type=Path,
        metavar="OUT",
        help="write its tables here; into a page that has the two markers of docs/audit.md, between them",
    )


def run(args: argparse.Namespace) -> None:
    """Audit, and print the findings unless they go into a file."""
    import shutil

    from mdnmt import fsio, provenance
    from mdnmt.audit import render
    from mdnmt.audit.inputs import load_inputs
    from mdnmt.audit.run import audit
    from mdnmt.code_hash import code_hash

    result = audit(load_inputs(args.config, args.paper))
    if args.json:
        made = provenance.made_by(code_hash("mdnmt.commands.audit"))
        fsio.write_sealed(args.json, {**result.model_dump(mode="json"), "made": made})
        print(f"audit: {args.json}")
    if args.markdown:
        tables = render.markdown(result)
        page = args.markdown.read_text(encoding="utf-8") if args.markdown.is_file() else ""
        marked = render.BEGIN in page or render.END in page
        fsio.write_text(args.markdown, render.into_page(page, tables, str(args.markdown)) if marked else tables)
        print(f"audit: {args.markdown}")
    if not (args.json or args.markdown):
        print(render.text(result, shutil.get_terminal_size((120, 24)).columns), end="")
