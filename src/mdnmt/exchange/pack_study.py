"""Pack the finished runs of a study, their tasks and exhibits into a bundle."""

from __future__ import annotations

import contextlib
from pathlib import Path

from mdnmt.exchange.bundle import Bundle
from mdnmt.exchange.evidence import bundle_exhibits, bundle_tasks
from mdnmt.exchange.finished_runs import bundle_finished
from mdnmt.studies.result_paths import result_paths
from mdnmt.studies.study import Study


def drop_other_runs(study: Study, bundle: Bundle) -> list[str]:
    """Remove bundled runs that a study does not have, such as those of earlier options; return a line for each."""
    others = sorted(set(bundle.runs) - {run.address for run in study.runs})
    bundle.drop(others)
    return [f"removed {address}" for address in others]


def pack_study(study: Study, results: Path, bundle: Bundle, *, runs_only: bool = False) -> list[str]:
    """Add finished runs, their tasks and the exhibits made from them.

    Args:
        study: the study with the runs and exhibits.
        results: folder of results.
        bundle: the bundle to add them to; its folder is an absolute path.
        runs_only: add no tasks and record no exhibits.

    Returns:
        One line for each run and task that was added, and one with the reason for each item that was left out.

    Raises:
        MdnmtError: a file is missing, or was altered.
    """
    added, waiting = bundle_finished(study, result_paths(study, results), bundle)
    lines = [f"added {name}" for name in added]
    lines += [f"not added: {name} {why}" for name, why in waiting.items()]
    if runs_only:
        return lines
    bundled = study.only(lambda run: run.address in bundle.runs)
    lines += [f"added task {name}" for name in bundle_tasks(bundled, result_paths(bundled, results), bundle)]
    # Specifications name files relative to the project, as in a fresh clone, where the results are in `results`.
    with contextlib.chdir(results.resolve().parent):
        left_out = bundle_exhibits(bundled, result_paths(bundled, Path("results")), bundle)
    return [*lines, *(f"left out: {name} {why}" for name, why in left_out.items())]
