"""Results that no study uses any more, for example after a configuration changed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from mdnmt.errors import DataError
from mdnmt.fsio import read_json, read_lines, write_lines
from mdnmt.studies.label_conditions import translations_of
from mdnmt.studies.result_paths import ResultPaths
from mdnmt.studies.study import Study
from mdnmt.tasks.task_spec import STAGES
from mdnmt.train.lease import lease_holders

STARTED = "started.tsv"  # in a study's folder: the runs of its last start
_FINGERPRINT = re.compile(r"-([0-9a-f]{8})$")


@dataclass(frozen=True)
class Stale:
    """A folder that no study names, its size, and the process that holds its lease, if any."""

    folder: Path
    size_bytes: int
    held_by: str | None


def find_stale(studies: Iterable[Study], results: Path, *, wait: bool = False) -> tuple[list[Stale], list[Path]]:
    """Return the folders of tasks, stages of their data and runs, and folders in those of runs, that no study names.

    A study names the folders of its current configuration and those in its last `runs.tsv` and `started.tsv`, which
    include seeds given on the command line. The folders of a task that cannot be made now (its corpus is missing) are
    not known, so nothing of that task counts as stale.

    Args:
        studies: the studies as configured now.
        results: folder of results.
        wait: watch leases of other hosts until it is known whether their holders are alive (`mdnmt.train.lease`).

    Returns:
        The stale folders; and the runs that only a study's lists name, such as those with seeds from the command line.
    """
    configured: set[Path] = set()
    listed: set[Path] = set()
    unknown: set[str] = set()
    for study in studies:
        unknown |= {name for name, task in study.tasks.items() if task.spec is None}
        configured |= _configured(study, results)
        listed |= _listed(study, results)
    named, found = configured | listed, []
    for pattern in ("tasks/*", "runs/*/*/*"):
        for folder in sorted(results.glob(pattern)):
            if _task_of(folder, results) in unknown:
                continue
            if _is_unnamed(folder, named):
                found.append(folder)
                continue
            found += [inner for inner in sorted(folder.glob("*-*")) if _is_unnamed(inner, named)]
    for stage in STAGES:
        for folder in sorted(results.glob(f"tasks/{stage}/*")):
            if folder.is_dir() and folder not in named and _made_for(folder) not in unknown:
                found.append(folder)
    holders = lease_holders([folder / "lease" for folder in found], wait=wait)
    stale = [Stale(folder, _size(folder), holder) for folder, holder in zip(found, holders, strict=True)]
    return stale, [folder for folder in sorted(results.glob("runs/*/*/*")) if folder in listed - configured]


def _configured(study: Study, results: Path) -> set[Path]:
    """Return the folders of a study's current configuration."""
    places = ResultPaths(study, results)
    named = {Path(places.external(output)) for output in study.external}
    for name, task in study.tasks.items():
        named |= {Path(places.task(name)), Path(places.copied(name))}
        named |= {Path(places.stage(stage, name)).parent for stage in task.stages}
    for run in study.makeable():
        tests = map(places.test, translations_of(study, run))
        named |= set(map(Path, (places.run(run), places.analysis(run), *tests)))
    return named


def _listed(study: Study, results: Path) -> set[Path]:
    """Return the folders that a study's lists name, with the data, analyses and configured translations."""
    tests: dict[tuple[str, str], set[str]] = {}
    for run in study.runs:
        of_row = tests.setdefault((run.task, run.directory), set())
        of_row |= {one.translation(study.decode_fingerprint(one)) for one in translations_of(study, run)}
    named: set[Path] = set()
    for table in (results / study.name / "runs.tsv", results / study.name / STARTED):
        header, *rows = [line.split("\t") for line in read_lines(table)] if table.is_file() else [[]]
        for row in rows:
            line = dict(zip(header, row, strict=False))
            if not {"task", "method", "run_dir", "test_dir"} <= line.keys():
                raise DataError(f"{table}: was edited; remove it and start snakemake again, which makes it")
            if line["run_dir"]:
                # Paths in the list are relative to the project's folder, the parent of `results`.
                folder, test = results.parent / line["run_dir"], results.parent / line["test_dir"]
                named |= {folder, test, *folder.glob("analysis-*"), _data_of(folder, line["task"], results)}
                named |= {folder / name for name in tests.get((line["task"], line["method"]), ())}
    return named


def list_started(table: Path, rows: Iterable[dict[str, str]]) -> None:
    """Write the runs that a study is started with: its `runs.tsv` is written only when all of them are finished."""
    columns = ("task", "method", "seed", "run_dir", "test_dir")
    write_lines(table, ["\t".join(columns), *("\t".join(row[name] for name in columns) for row in rows)])


def _data_of(run: Path, task: str, results: Path) -> Path:
    """Return the folder of the data that a finished run was trained on; for an unfinished one, the run's folder."""
    try:
        return results / "tasks" / f"{task}-{read_json(run / 'run.json')['spec']['task_fingerprint']}"
    except (OSError, ValueError, KeyError):
        return run


def _made_for(folder: Path) -> str:
    """Return the name of the task that a stage of its data was first made for; "" if it is not complete."""
    try:
        return str(read_json(folder / f"{folder.parent.name}.json")["task"])
    except (OSError, ValueError, KeyError):
        return ""


def _task_of(folder: Path, results: Path) -> str:
    kind, name = folder.relative_to(results).parts[:2]
    return _FINGERPRINT.sub("", name) if kind == "tasks" else name


def _is_unnamed(folder: Path, named: set[Path]) -> bool:
    return folder.is_dir() and _FINGERPRINT.search(folder.name) is not None and folder not in named


def _size(folder: Path) -> int:
    """Return the bytes that are free once a folder is removed: none of files that have a hard link elsewhere."""
    files = [path.stat() for path in folder.rglob("*") if path.is_file()]
    links = Counter(file.st_ino for file in files)
    return sum({file.st_ino: file.st_size for file in files if file.st_nlink == links[file.st_ino]}.values())
