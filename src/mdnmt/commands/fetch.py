"""Fetch corpora and verify them; the first download of one records what it is."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument("corpora", nargs="*", metavar="CORPUS", help="names of files in config/corpora/")
    parser.add_argument("--study", metavar="STUDY", help="the corpora of all tasks of a study")
    parser.add_argument(
        "--config", type=Path, default=Path("config"), metavar="DIR", help="the project's config (default: %(default)s)"
    )
    parser.add_argument(
        "--corpora-dir",
        type=Path,
        default=Path("resources/corpora"),
        metavar="DIR",
        help="where corpora stand (default: %(default)s)",
    )
    workflow = parser.add_argument_group("as the workflow calls it: one corpus whose content is known")
    workflow.add_argument("--spec", metavar="JSON", help="what to fetch, as the workflow writes it")
    workflow.add_argument("--out", type=Path, metavar="DIR", help="the corpus' folder")


def run(args: argparse.Namespace) -> int | None:
    """Fetch what was asked for and say what is there."""
    from mdnmt.config.loader import parse_spec
    from mdnmt.corpora.fetch import fetch
    from mdnmt.corpora.first import corpora_of_study, fetch_by_name
    from mdnmt.corpora.spec import FetchSpec
    from mdnmt.errors import ConfigError, MdnmtError

    if args.spec is not None:
        if args.out is None or args.corpora or args.study:
            raise ConfigError("--spec goes with --out and with nothing else")
        spec = parse_spec(args.spec, FetchSpec)
        rows = fetch(spec, args.out)
        _say(spec.corpus.name, [row.size_bytes for row in rows.values()])
        return None
    names = [*args.corpora, *(corpora_of_study(args.config, args.study) if args.study else ())]
    if not names:
        raise ConfigError("say which: names of corpora, or --study")
    failed = []
    for name in dict.fromkeys(names):
        try:
            rows = fetch_by_name(args.config, name, args.corpora_dir)
        except MdnmtError as error:
            failed.append(name)
            print(f"mdnmt fetch: {name}: {error}", file=sys.stderr)
            continue
        _say(name, [row.size_bytes for row in rows.values()])
    if failed:
        print(f"mdnmt fetch: not fetched: {', '.join(failed)}", file=sys.stderr)
    return MdnmtError.exit_code if failed else None


def _say(name: str, sizes: list[int]) -> None:
    print(f"{name}: {len(sizes)} file(s), {sum(sizes) / 1e6:.1f} MB, verified by sha256", flush=True)
