"""The locks of tasks: the identity of every split when a task was first built.

A task's fingerprint covers its input; the identities cover its output. If the same corpora and configuration give other
sentences, something else has changed (this package, Python, a library), and scores on the two cannot be compared.

`config/tasks.lock.yaml` is under version control, and only `mdnmt pin` writes it. A task that is new to this checkout,
such as one on the user's own text, is recorded in `config/tasks.own.lock.yaml`, which git ignores.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import yaml
from pydantic import Field, StringConstraints

from mdnmt import fsio
from mdnmt.config.base import Frozen
from mdnmt.config.loader import load_model
from mdnmt.config.task import Name
from mdnmt.corpora.corpus_lock import locked_folder, own_lock
from mdnmt.errors import DataError
from mdnmt.workspace import config_file

LOCK = "tasks.lock.yaml"
_HEADER = """\
# The splits of each task when it was first built: task -> fingerprint -> split -> domain -> a hash of its sentences in
# any order. Written by `mdnmt pin`; every later `mdnmt task` is compared with it.
# To accept other sentences, remove the fingerprint here and make the task again.
"""
_OWN_HEADER = """\
# Like tasks.lock.yaml, for tasks that were first built in this checkout. Written by `mdnmt task`, ignored by git.
# To accept other sentences, remove the fingerprint here and make the task again.
"""

Split = Literal["train", "valid", "test"]
Fingerprint = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{8}$")]
Identity = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{16}$")]
Splits = dict[Split, dict[Name, Identity]]


class TaskLock(Frozen):
    """The identities of the splits of each task, by fingerprint."""

    tasks: dict[Name, dict[Fingerprint, Splits]] = Field(default_factory=dict)


def read_task_lock(path: Path) -> TaskLock:
    """Return the lock at `path`; it is empty if no task was built yet.

    Raises:
        ConfigError: the lock is invalid.
    """
    return load_model(path, TaskLock) if path.exists() else TaskLock()


def check_or_record(path: Path, name: str, fingerprint: str, splits: Splits) -> bool:
    """Compare a task with the locks, or record it in the checkout's own lock; return whether it was new.

    Args:
        path: the lock under version control; the checkout's own lock is beside it.
        name: the task's name.
        fingerprint: the task's fingerprint.
        splits: split -> domain -> identity.

    Raises:
        DataError: a split has another identity than when the task was first built.
        ConfigError: as `read_task_lock`.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with locked_folder(path.parent):
        own = read_task_lock(own_lock(path))
        shared = config_file(path.parent, path.name)
        for file, lock in ((shared, read_task_lock(shared)), (own_lock(path), own)):
            known = lock.tasks.get(name, {}).get(fingerprint)
            if known is not None:
                _compare(file, name, fingerprint, known, splits)
                return False
        _write(own_lock(path), _merged(own, TaskLock(tasks={name: {fingerprint: splits}})), _OWN_HEADER)
        return True


def pin_tasks(path: Path) -> list[str]:
    """Move all entries of the checkout's own lock into the lock under version control; return a line for each.

    Raises:
        ConfigError: as `read_task_lock`.
    """
    if not own_lock(path).exists():
        return []
    with locked_folder(path.parent):
        shared, own = read_task_lock(config_file(path.parent, path.name)), read_task_lock(own_lock(path))
        _write(path, _merged(own, shared), _HEADER)  # where both have an entry, the one under version control stays
        own_lock(path).unlink()
    return [f"{name}-{fingerprint}" for name, found in own.tasks.items() for fingerprint in found]


def _merged(one: TaskLock, other: TaskLock) -> TaskLock:
    names = one.tasks.keys() | other.tasks.keys()
    return TaskLock(tasks={name: {**one.tasks.get(name, {}), **other.tasks.get(name, {})} for name in names})


def _write(path: Path, lock: TaskLock, header: str) -> None:
    value = {"tasks": {name: dict(sorted(found.items())) for name, found in sorted(lock.tasks.items())}}
    fsio.write_text(path, header + yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=120))


def _compare(path: Path, name: str, fingerprint: str, known: Splits, found: Splits) -> None:
    differing = [
        f"{split} text of {domain} is {identity}, was {known.get(split, {}).get(domain, 'not there')}"
        for split, domains in found.items()
        for domain, identity in domains.items()
        if known.get(split, {}).get(domain) != identity
    ]
    if differing:
        more = f" (and {len(differing) - 1} more)" if len(differing) > 1 else ""
        raise DataError(
            f"{path}: {name}-{fingerprint}: {differing[0]}{more}: the same corpora and configuration gave other "
            f"sentences when the task was first built, so scores on the two cannot be compared; to accept the new "
            f"text, remove {fingerprint} of {name} there and make the task again"
        )
