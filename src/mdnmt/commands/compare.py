"""Show cells of tables side by side: ours and the published numbers, or those of two studies."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    parser.add_argument("study", help="of which tables are there")
    parser.add_argument("other", nargs="?", help="a second study; without it: the published numbers")
    parser.add_argument("--table", metavar="KEY", help="this table alone, as jiang2020-table2")
    parser.add_argument("--json", action="store_true", help="as JSON")
    parser.add_argument("--results", type=Path, default=Path("results"), help="default: %(default)s")


def run(args: argparse.Namespace) -> None:
    """Read the tables and print what stands side by side."""
    import json

    from mdnmt.errors import DataError
    from mdnmt.paper import compare
    from mdnmt.paper.grid import read_grid

    first = compare.chosen(compare.tables_of(args.study, args.results), args.table, args.study)
    if args.other is None:
        made = [compare.with_published(key, read_grid(path)) for key, path in first.items()]
        heads, legend = ("ours", "published", "difference"), ""
    else:
        second = compare.chosen(compare.tables_of(args.other, args.results), args.table, args.other)
        shared = [key for key in first if key in second]
        if not shared:
            raise DataError(
                f"studies {args.study!r} and {args.other!r} share no table: the first has {', '.join(first)}, the "
                f"second {', '.join(second)}; expected two that show the same table of a paper"
            )
        made = [compare.with_other(key, read_grid(first[key]), read_grid(second[key])) for key in shared]
        heads, legend = ("A", "B", "B - A"), f"A: {args.study}    B: {args.other}"
    if args.json:
        print(json.dumps(compare.to_json(made), indent=2, ensure_ascii=False))
        return
    parts = [legend, *(compare.to_text(one, heads) for one in made), compare.summary(made)]
    print("\n\n".join(part for part in parts if part))
