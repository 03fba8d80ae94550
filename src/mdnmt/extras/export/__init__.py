"""Write a finished run in the format of another toolkit."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    parser.add_argument("run", type=Path, metavar="RUN", help="folder of a finished run")
    parser.add_argument("--to", required=True, choices=("ctranslate2", "huggingface", "onnx"), help="the format")
    parser.add_argument("--out", type=Path, required=True, metavar="FOLDER", help="folder to write; new or empty")
    parser.add_argument(
        "--config", type=Path, default=Path("config"), metavar="DIR",
        help="configuration with the licences of the run's corpora (default: %(default)s)",
    )  # fmt: skip


def run(args: argparse.Namespace) -> None:
    """Write the folder and print its name."""
    from mdnmt.extras.export.export_run import export_run
    from mdnmt.training_code import say_other_code

    export_run(args.run, args.to, args.out, args.config)
    say_other_code([args.run])
    print(f"{args.out}: written; its README.md says how to use it")
