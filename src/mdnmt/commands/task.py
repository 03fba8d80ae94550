"""Build the data of one task: clean, split, segment, binarise."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument("--spec", required=True, metavar="JSON", help="the task, as the workflow writes it")
    parser.add_argument("--corpora", required=True, type=Path, metavar="DIR", help="folder of the fetched corpora")
    parser.add_argument("--out", required=True, type=Path, metavar="DIR", help="the task's folder")
    parser.add_argument(
        "--lock", type=Path, metavar="FILE", help="compare its splits with this lock; a new task is recorded beside it"
    )
    parser.add_argument(
        "--jobs", type=int, default=1, metavar="N", help="processes (default 1); same data for any number"
    )


def run(args: argparse.Namespace) -> int | None:
    """Build the task into `--out`; progress goes to stderr."""
    from mdnmt.config.loader import parse_spec
    from mdnmt.tasks.build import build_task
    from mdnmt.tasks.task_spec import TaskSpec

    spec = parse_spec(args.spec, TaskSpec)
    build_task(spec, args.corpora, args.out, args.jobs, say=lambda line: print(line, file=sys.stderr, flush=True))
    if args.lock is not None:
        _hold(args.out, args.lock)
    _print_ceilings(args.out)
    return None


def _print_ceilings(out: Path) -> None:
    """Print what a perfect system would score, so that a lossy tokenizer is seen before anything is trained."""
    from mdnmt.errors import MdnmtError
    from mdnmt.score.ceiling import ceiling
    from mdnmt.score.test_sets import load_test_sets

    sets, found = load_test_sets(out), []
    try:
        for domain in sets.domains:
            of = ceiling(tuple(sets.references(domain)), sets.target_lang, sets.target_tokenizer, ("bleu", "chrf"))
            found.append(f"{domain} {of['bleu']:.1f}/{of['chrf']:.1f}")
    except MdnmtError as error:  # the task is built; scoring will say the same
        print(f"warning: {error}", file=sys.stderr)
        return
    print(f"ceilings (BLEU/chrF of a perfect system): {', '.join(found)}", file=sys.stderr)


def _hold(out: Path, lock: Path) -> None:
    """Check the result against the lock; on a mismatch, remove its manifest, so that it does not count as built."""
    from mdnmt.errors import DataError
    from mdnmt.fsio import read_json
    from mdnmt.tasks.task_data import MANIFEST
    from mdnmt.tasks.task_lock import check_or_record

    manifest = read_json(out / MANIFEST)
    try:
        check_or_record(lock, manifest["name"], manifest["fingerprint"], manifest["splits"])
    except DataError:
        (out / MANIFEST).unlink()
        raise
