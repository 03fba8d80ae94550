"""Fetch one corpus and verify it."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument("--spec", required=True, metavar="JSON", help="what to fetch, as the workflow writes it")
    parser.add_argument("--out", required=True, type=Path, metavar="DIR", help="the corpus' folder")


def run(args: argparse.Namespace) -> int | None:
    """Fetch the corpus into `--out` and say what is there."""
    from mdnmt.config.loader import parse_spec
    from mdnmt.corpora.fetch import fetch
    from mdnmt.corpora.spec import FetchSpec

    spec = parse_spec(args.spec, FetchSpec)
    fetch(spec, args.out)
    size_mb = sum(file.size_bytes for file in spec.corpus.files) / 1e6
    print(f"{spec.corpus.name}: {len(spec.corpus.files)} file(s), {size_mb:.1f} MB, verified by sha256")
    return None
