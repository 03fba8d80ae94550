"""Write toy weights in place of pretrained ones, for the smoke study."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the verb."""
    parser.add_argument("--out", type=Path, required=True, help="folder of the weights")


def run(args: argparse.Namespace) -> None:
    """Write the weights."""
    from mdnmt.extras.mbart50.toy import make_toy

    make_toy(args.out)
