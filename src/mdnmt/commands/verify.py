"""Check a bundle or certificate without training: recompute its numbers from its translations."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    parser.add_argument(
        "bundle", nargs="?", type=Path, default=Path("docs/replication/bundle"), help="default: %(default)s"
    )
    parser.add_argument(
        "--results", type=Path, default=Path("results"), help="where tasks may be built (default: %(default)s)"
    )
    parser.add_argument(
        "--public-key", type=Path, metavar="KEY", help="refuse what is not signed with one of these SSH keys"
    )
    parser.add_argument(
        "--processes", type=int, metavar="N", help="check N runs or exhibits at the same time (default: one per core)"
    )
    parser.add_argument("--quiet", action="store_true", help="print only what is not ok")


def run(args: argparse.Namespace) -> int:
    """Print one line for each file, run, task and exhibit; return 1 if anything differs."""
    from itertools import chain

    from mdnmt.errors import DataError
    from mdnmt.exchange.bundle import MANIFEST, Bundle
    from mdnmt.exchange.signature import UNSIGNED, check_signature
    from mdnmt.exchange.verify import verify
    from mdnmt.plugin_kinds import EVIDENCE
    from mdnmt.plugins import find_all, load
    from mdnmt.provenance import usable_cores

    folder, results = args.bundle.resolve(), args.results.resolve()
    forms = (load(EVIDENCE, plugin) for plugin in find_all(EVIDENCE))
    manifest, form = next(((found, form) for form in forms if (found := form.manifest_in(folder))), (None, None))
    if form is None and not (folder / MANIFEST).is_file():
        raise DataError(f"{args.bundle}: no {MANIFEST}; expected the folder of a bundle (mdnmt bundle) or certificate")
    processes = usable_cores() if args.processes is None else args.processes
    signed = check_signature(manifest or folder / MANIFEST, args.public_key)
    found = form.verify(folder, results, processes) if form else verify(Bundle(folder), results, processes)
    counts = {"ok": 0, "differs": 0, "not checked": 0}
    # A missing signature that nobody asked for is only mentioned in the last line.
    for one in chain([signed] if signed.detail != UNSIGNED else [], found):
        counts[one.status] += 1
        if one.status != "ok" or not args.quiet:
            print(one.line(), flush=True)
    more = f", {UNSIGNED}" if signed.detail == UNSIGNED else ""
    print(f"{args.bundle}: {', '.join(f'{number} {status}' for status, number in counts.items())}{more}")
    return 1 if counts["differs"] else 0
