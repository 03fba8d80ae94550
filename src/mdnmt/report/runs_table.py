"""Write runs.tsv: every run of a study with its folder and state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from mdnmt.fsio import write_text
from mdnmt.paths import RunPaths

COLUMNS = ("task", "method", "label", "domains", "seed", "fingerprint", "run_dir", "test_dir", "state", "reason")


def write_runs(rows: Iterable[Mapping[str, str]], path: Path) -> None:
    """Look at each run's folder and write the table.

    Args:
        rows: what `report_selection.run_rows` returned: all columns but the state.
        path: the file.
    """
    found = [{**row, "state": _state(row)} for row in rows]
    lines = ["\t".join(COLUMNS), *("\t".join(row[column] for column in COLUMNS) for row in found)]
    write_text(path, "".join(f"{line}\n" for line in lines))


def _state(row: Mapping[str, str]) -> str:
    if not row["run_dir"]:
        return "missing"
    paths = RunPaths(Path(row["run_dir"]))
    if paths.record.is_file():
        return "done"
    return "begun" if paths.metrics.is_file() else "to do"
