"""Results that no study names any more: left beside the new ones when a configuration changed."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from mdnmt.studies.study import Study
from mdnmt.train.lease import lease_is_live

_FINGERPRINT = re.compile(r"-([0-9a-f]{8})$")


@dataclass(frozen=True)
class Stale:
    """A folder that no study names, its size in bytes, and who is at work in it, if anybody."""

    folder: Path
    size_bytes: int
    held_by: str | None


def find_stale(studies: Iterable[Study], results: Path) -> list[Stale]:
    """Return the task and run folders, and the decodings and analyses in them, that none of `studies` names.

    Fingerprints decide: a folder counts as named when any task or run has its fingerprint. Of a task that cannot be
    made at present (its corpus is out of reach) the fingerprint is not known, so nothing of it is stale.
    """
    named: set[str] = set()
    unknown: set[str] = set()
    for study in studies:
        unknown |= {name for name, task in study.tasks.items() if task.spec is None}
        for name, task in study.tasks.items():
            named |= {task.fingerprint, study.copy_fingerprint(name)}
        for run in study.makeable():
            named |= {run.fingerprint, study.decode_fingerprint(run), study.analysis_fingerprint(run)}
    found = []
    for pattern in ("tasks/*", "runs/*/*/*"):
        for folder in sorted(results.glob(pattern)):
            if _task_of(folder, results) in unknown:
                continue
            if _is_unnamed(folder, named):
                found.append(folder)
                continue
            found += [inner for inner in sorted(folder.glob("*-*")) if _is_unnamed(inner, named)]
    return [Stale(folder, _size(folder), lease_is_live(folder / "lease")) for folder in found]


def _task_of(folder: Path, results: Path) -> str:
    kind, name = folder.relative_to(results).parts[:2]
    return _FINGERPRINT.sub("", name) if kind == "tasks" else name


def _is_unnamed(folder: Path, named: set[str]) -> bool:
    match = _FINGERPRINT.search(folder.name)
    return folder.is_dir() and match is not None and match[1] not in named


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
