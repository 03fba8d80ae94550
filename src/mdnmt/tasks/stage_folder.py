"""The folder of a stage of a task's data: made once, named by its address, complete once its manifest is there."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from mdnmt import fsio
from mdnmt.corpora.corpus_lock import locked_folder
from mdnmt.corpora.temporary_folder import partial_folder
from mdnmt.errors import DataError
from mdnmt.fingerprint import sha256_file
from mdnmt.tasks.task_data import difference
from mdnmt.tasks.task_spec import STAGES, TaskSpec
from mdnmt.training_code import stage_code

Say = Callable[[str], None]


def stage_folder(tasks: Path, spec: TaskSpec, stage: str) -> Path:
    """Return the folder of a stage of a task, below the folder of all tasks."""
    return tasks / stage / spec.stages[stage]


def manifest_of(folder: Path) -> Path:
    """Return the manifest of a stage's folder."""
    assert folder.parent.name in STAGES, folder
    return folder / f"{folder.parent.name}.json"


def make_once(folder: Path, spec: TaskSpec, make: Callable[[Path], dict[str, Any]]) -> None:
    """Make a stage's folder, unless it is complete.

    If another process makes the same folder, wait until it has finished.

    Args:
        folder: the stage's folder.
        spec: the task, whose name is recorded: several tasks may share the folder.
        make: writes all files into a temporary folder, and returns what the manifest records.
    """
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with locked_folder(folder):
            if not manifest_of(folder).is_file():
                with partial_folder(folder) as part:
                    facts = make(part)
                    stage = folder.parent.name
                    code = {stage: stage_code(stage)}
                    publish(part, manifest_of(folder), {"task": spec.name, "code": code, **facts})
    finally:
        with suppress(OSError):  # nothing was made, and it stays empty
            folder.rmdir()


def publish(part: Path, manifest: Path, facts: Mapping[str, Any]) -> None:
    """Move the files of a temporary folder to their place, one by one; the manifest, with their sums, is written last.

    Args:
        part: the temporary folder.
        manifest: its final path; files beside it that are not in `part` stay.
        facts: what the manifest records beside the sums.
    """
    out = manifest.parent
    paths = sorted(path.relative_to(part) for path in part.rglob("*") if path.is_file())
    files = {path.as_posix(): _synced(part / path) for path in paths}
    out.mkdir(parents=True, exist_ok=True)
    manifest.unlink(missing_ok=True)
    for path in paths:
        (out / path).parent.mkdir(parents=True, exist_ok=True)
        (part / path).replace(out / path)
    for folder in sorted({(out / path).parent for path in paths}):
        fsio.sync_directory(folder)
    fsio.write_sealed(manifest, {"files": files, **facts})


def _synced(path: Path) -> dict[str, Any]:
    """Flush a file to disk and return its sha256 and size."""
    with path.open("rb") as handle:
        os.fsync(handle.fileno())
    return {"sha256": sha256_file(path), "size_bytes": path.stat().st_size}


def read_stage(folder: Path) -> dict[str, Any]:
    """Return what the manifest of a stage records, after comparing every file with it.

    Raises:
        DataError: the stage is not made, or a file is missing or was altered.
    """
    path = manifest_of(folder)
    try:
        facts: dict[str, Any] = fsio.read_json(path)
    except FileNotFoundError:
        raise DataError(f"{path}: missing; make it with `mdnmt task --stage {folder.parent.name}`") from None
    if found := difference(folder, facts["files"], path.name):
        raise DataError(f"{found}; remove the folder {folder} and start the same command again")
    return facts
