"""Move the checksums that this checkout recorded into the locks under version control."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument(
        "--config", type=Path, default=Path("config"), metavar="DIR", help="the project's config (default: %(default)s)"
    )


def run(args: argparse.Namespace) -> None:
    """Move the rows of corpora and tasks, and print one line for each."""
    from mdnmt.corpora.corpus_lock import LOCK, pin_rows
    from mdnmt.tasks.task_lock import LOCK as TASK_LOCK
    from mdnmt.tasks.task_lock import pin_tasks

    moved = pin_rows(args.config), pin_tasks(args.config / TASK_LOCK)
    for lines, name in zip(moved, (LOCK, TASK_LOCK), strict=True):
        for line in lines:
            print(f"{name}: {line}")
    print("commit the locks to share them" if any(moved) else "nothing to pin: this checkout has recorded nothing new")
