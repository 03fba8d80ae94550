"""The lock of tasks, `config/tasks.lock.yaml`: the identity of every split when a task was made first.

A task's name and fingerprint say of what and how it is made; the identities say what came out. When the same corpora
and the same configuration give other sentences, something else has changed (this package, Python, a library), and
scores on them cannot stand beside earlier ones.
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
from mdnmt.corpora.lock import alone
from mdnmt.errors import DataError

LOCK = "tasks.lock.yaml"
_HEADER = """\
# What each task's splits were when it was made first: task -> fingerprint -> split -> domain -> a hash of its sentences
# in any order. Made by `mdnmt task`; every later making is held against it.
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
    """Return the lock at `path`; it is empty where no task was made yet.

    Raises:
        ConfigError: something in it is not allowed.
    """
    return load_model(path, TaskLock) if path.exists() else TaskLock()


def hold(path: Path, name: str, fingerprint: str, splits: Splits) -> bool:
    """Hold a task that was made against the lock, or enter it when it is new; return whether it was new.

    Args:
        path: the lock.
        name: of the task.
        fingerprint: of the task.
        splits: split -> domain -> identity.

    Raises:
        DataError: a split has another identity than when the task was made first.
        ConfigError: as `read_task_lock`.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with alone(path.parent):
        lock = read_task_lock(path)
        known = lock.tasks.get(name, {}).get(fingerprint)
        if known is not None:
            _compare(path, name, fingerprint, known, splits)
            return False
        tasks = {**lock.tasks, name: {**lock.tasks.get(name, {}), fingerprint: splits}}
        value = {"tasks": {key: dict(sorted(tasks[key].items())) for key in sorted(tasks)}}
        fsio.write_text(path, _HEADER + yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=120))
        return True


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
            f"{path}: {name}-{fingerprint}: {differing[0]}{more}: the same corpora and configuration give other "
            f"sentences than when it was made first, so its scores cannot stand beside earlier ones; to accept that, "
            f"remove {fingerprint} of {name} there and make the task again"
        )
