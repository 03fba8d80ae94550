"""Compare a study with the published numbers, two studies, or two files of translations."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    from mdnmt.score.metrics.string_based import STRING_BASED

    parser.add_argument("study", help="a study whose tables exist; with --reference: a file of translations")
    parser.add_argument("other", nargs="?", help="a second study or file; without it: the published numbers")
    parser.add_argument("--table", metavar="KEY", help="only this table, for example jiang2020-table2")
    parser.add_argument("--reference", type=Path, metavar="FILE", help="compare two files with this reference")
    parser.add_argument("--metrics", nargs="+", choices=tuple(STRING_BASED), help="for two files (default: bleu chrf)")
    parser.add_argument(
        "--target-lang",
        metavar="LANG",
        help="for two files: their language, a code of ISO 639; BLEU's tokenisation follows it",
    )
    parser.add_argument("--json", action="store_true", help="as JSON")
    parser.add_argument("--results", type=Path, default=Path("results"), help="default: %(default)s")


def run(args: argparse.Namespace) -> None:
    """Read the tables and print their cells side by side, or compare two files."""
    import json

    from mdnmt.errors import DataError, printable_lines
    from mdnmt.exhibits.grid import read_grid
    from mdnmt.report import compare_studies

    if args.reference is not None:
        _compare_files(args)
        return
    if args.metrics or args.target_lang:
        raise DataError("--metrics and --target-lang are for files of translations; add --reference FILE")
    first = compare_studies.chosen(compare_studies.tables_of(args.study, args.results), args.table, args.study)
    if args.other is None:
        made = [compare_studies.with_published(key, read_grid(path)) for key, path in first.items()]
        heads, legend = ("ours", "published", "difference"), ""
    else:
        second = compare_studies.chosen(compare_studies.tables_of(args.other, args.results), args.table, args.other)
        shared = [key for key in first if key in second]
        if not shared:
            raise DataError(
                f"studies {args.study!r} and {args.other!r} share no table: the first has {', '.join(first)}, the "
                f"second {', '.join(second)}; expected two that show the same table of a paper"
            )
        made = [compare_studies.with_other(key, read_grid(first[key]), read_grid(second[key])) for key in shared]
        heads, legend = ("A", "B", "B - A"), f"A: {args.study}    B: {args.other}"
    if args.json:
        print(json.dumps(compare_studies.to_json(made), indent=2))
        return
    parts = [legend, *(compare_studies.to_text(one, heads) for one in made), compare_studies.summary(made)]
    print(printable_lines("\n\n".join(part for part in parts if part)))


def _compare_files(args: argparse.Namespace) -> None:
    import json

    from mdnmt.errors import DataError, printable_lines
    from mdnmt.report import compare_files
    from mdnmt.score import text_files

    if args.other is None or args.table:
        raise DataError(
            "--reference compares two files: expected `mdnmt compare A B --reference FILE`, without --table"
        )
    files = (Path(args.study), Path(args.other))
    found = text_files.compare_files(
        args.reference, *files, args.metrics or text_files.DEFAULT_METRICS, args.target_lang
    )
    if args.json:
        print(json.dumps(compare_files.to_json(found), indent=2))
    else:
        print(printable_lines(f"A: {files[0]}    B: {files[1]}\n\n{compare_files.to_text(found)}"))
