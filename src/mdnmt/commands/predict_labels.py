"""Predict the domain of each test sentence with a classifier trained on the training text."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `mdnmt predict-labels`."""
    parser.add_argument("--task", type=Path, required=True, help="folder of the task's data")
    parser.add_argument("--out", type=Path, required=True, help="JSON file for `mdnmt decode --predicted`")


def run(args: argparse.Namespace) -> None:
    """Write the predicted labels, and print their accuracy."""
    from mdnmt.analysis.domain_classifier import predict
    from mdnmt.fsio import write_sealed
    from mdnmt.tasks.task_data import TaskData
    from mdnmt.training_code import made_by, say_other_data

    say_other_data(args.task)
    data = TaskData.load(args.task)
    found = predict(data)
    write_sealed(args.out, found, made_by=made_by("labels", task=args.task))
    for domain, entry in found["test"].items():
        print(
            f"{domain}: {100 * entry['accuracy']:.1f} % of {len(entry['labels'])} test sentences classified correctly"
        )
