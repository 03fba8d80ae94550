"""Check the text of a task before training, and report what to fix."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument("task", help="name of a file in config/tasks/")
    parser.add_argument("--config", type=Path, default=Path("config"), metavar="DIR", help="default: %(default)s")
    parser.add_argument(
        "--corpora", type=Path, default=Path("resources/corpora"), metavar="DIR", help="default: %(default)s"
    )


def run(args: argparse.Namespace) -> int:
    """Print the findings; return 2 if there is something to fix, else 0."""
    from mdnmt.errors import EXIT_USER

    return EXIT_USER if sum(findings(args)) else 0


def findings(args: argparse.Namespace) -> tuple[int, int]:
    """Print the findings; return the number of errors and that of warnings."""
    from itertools import chain

    from mdnmt.config.task import load_task
    from mdnmt.score.ceiling import check_ceilings
    from mdnmt.tasks.doctor.checks import check_task
    from mdnmt.tasks.doctor.user_text import texts_of

    task = load_task(args.config, args.task)
    errors = warnings = 0
    with texts_of(task, args.config, args.corpora) as (texts, missing):
        for domain, names in missing.items():
            print(f"{domain}: not fetched, so not checked: {', '.join(names)}; `mdnmt fetch {' '.join(names)}`")
        for report in chain(check_task(task, texts, missing), check_ceilings(task, texts)):
            print(report.heading, flush=True)
            for finding in report.findings:
                print(f"  {finding}", flush=True)
                errors += finding.level == "error"
                warnings += finding.level == "warning"
    verdict = "nothing to fix" if not errors + warnings else f"{errors} error(s), {warnings} warning(s)"
    print(f"{args.task}: {verdict}")
    return errors, warnings
