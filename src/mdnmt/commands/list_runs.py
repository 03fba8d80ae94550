"""Write runs.tsv: every run of a study with its folder and state."""

from __future__ import annotations

import argparse
from pathlib import Path

COLUMNS = ("task", "method", "label", "domains", "seed", "fingerprint", "run_dir", "test_dir", "state", "reason")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    parser.add_argument("--spec", required=True, help="the rows as JSON, without their state")
    parser.add_argument("--out", type=Path, required=True)


def run(args: argparse.Namespace) -> None:
    """Look at each run's folder and write the table."""
    import json

    from mdnmt.fsio import write_text
    from mdnmt.paths import RunPaths

    def state(row: dict[str, str]) -> str:
        if not row["run_dir"]:
            return "missing"
        paths = RunPaths(Path(row["run_dir"]))
        if paths.record.is_file():
            return "done"
        return "begun" if paths.metrics.is_file() else "to do"

    rows = [{**row, "state": state(row)} for row in json.loads(args.spec)]
    lines = ["\t".join(COLUMNS), *("\t".join(row[column] for column in COLUMNS) for row in rows)]
    write_text(args.out, "".join(f"{line}\n" for line in lines))
