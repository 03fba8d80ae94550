"""Check translations from elsewhere against the test sets of a task, and bring them into the results."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `mdnmt external`."""
    parser.add_argument(
        "folder",
        type=Path,
        help="with hyp.<domain>.txt, one translation per line, or hyp.<domain>.tsv: sha256 of the source line, tab, "
        "translation",
    )
    parser.add_argument("--task", type=Path, required=True, help="directory of the task, with task.json and text/")
    parser.add_argument("--out", type=Path, help="folder for the hypotheses (default: only check)")
    parser.add_argument("--limit", type=int, help="number of sentences to write per domain (default: all)")
    parser.add_argument("--sums", metavar="JSON", help="name -> sha256 that the files must have")


def run(args: argparse.Namespace) -> None:
    """Check the translations, write them if asked to, and print one line per file."""
    import json

    from mdnmt.errors import ConfigError
    from mdnmt.score.test_sets import load_test_sets
    from mdnmt.studies.external_translations import align_folder, import_folder

    try:
        sums = json.loads(args.sums) if args.sums is not None else None
    except ValueError as error:
        raise ConfigError(f"--sums: not JSON ({error}); expected an object, name -> sha256") from None
    test_sets = load_test_sets(args.task)
    if args.out is not None:
        import_folder(test_sets, args.folder, args.out, args.limit, sums)
    for text, lines in align_folder(test_sets, args.folder).values():
        print(f"{text.path}: {len(lines)} translations, sha256 {text.sha256}")
