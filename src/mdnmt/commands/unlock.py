"""Remove the lock of a killed Snakemake, if nothing is running here any more."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    parser.add_argument("--folder", type=Path, default=Path(), help="the project's folder (default: this one)")


def run(args: argparse.Namespace) -> None:
    """Remove stale locks.

    Raises:
        LeaseError: a snakemake or a trainer is alive here.
    """
    from mdnmt.errors import LeaseError
    from mdnmt.operations.snakemake_locks import locks, remove_locks, running_snakemake, running_trainer

    found = locks(args.folder)
    if not found:
        return
    holder = running_snakemake(args.folder) or running_trainer(args.folder)
    if holder:
        raise LeaseError(f"{args.folder.resolve().name}: is locked, and {holder} is at work; wait for it or stop it")
    remove_locks(found)
    print("opened the lock that a stopped snakemake had left")
