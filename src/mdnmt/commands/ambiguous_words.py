"""Find the words whose translation depends on the domain, in the training text of a task."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `mdnmt ambiguous-words`."""
    parser.add_argument("--task", type=Path, required=True, help="folder of the task's data")
    parser.add_argument(
        "--spec", default="{}", help="which words to find, as JSON (mdnmt.analysis.ambiguous_words.AmbiguityConfig)"
    )
    parser.add_argument("--out", type=Path, required=True, help="JSON file to write")


def run(args: argparse.Namespace) -> None:
    """Write the words, the most telling first."""
    from mdnmt.analysis.ambiguous_words import AmbiguityConfig, find_ambiguous_words
    from mdnmt.config.loader import parse_spec
    from mdnmt.fsio import write_sealed
    from mdnmt.tasks.task_data import TaskData

    config = parse_spec(args.spec, AmbiguityConfig)
    write_sealed(
        args.out,
        {"words": find_ambiguous_words(TaskData.load(args.task), config), "rule": config.model_dump(mode="json")},
    )
