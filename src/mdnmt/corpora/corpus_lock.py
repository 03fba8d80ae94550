"""The locks of corpora: the checksums of first downloads, with which every later download is compared.

`config/corpora.lock.yaml` is under version control, and only `mdnmt pin` writes it. Its `corpora` are binding. Its
`known` are the files from which the project's own results were made. Packages without a pinned version change over
time, so a different file is accepted, with a warning.

`config/corpora.own.lock.yaml` is ignored by git. A corpus whose checksum is pinned nowhere has no identity before its
first download, so that download writes its checksum there. It is as binding as the other file.
"""

from __future__ import annotations

import datetime
import fcntl
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import yaml
from pydantic import Field

from mdnmt import fsio
from mdnmt.config.base import Frozen
from mdnmt.config.corpus_source import FileName, Sha256
from mdnmt.config.loader import load_model
from mdnmt.config.task import Name
from mdnmt.errors import ConfigError
from mdnmt.workspace import config_file

LOCK, OWN_LOCK = "corpora.lock.yaml", "corpora.own.lock.yaml"
_HEADER = """\
# Checksums of first downloads; every later download must be the same. Written by `mdnmt pin`.
# To accept another file, remove its corpus under `corpora` and run `mdnmt fetch` for it. A corpus whose own file has a
# sha256 is compared with that. `known`: the files that the project's own results were made from; another file is
# accepted, with a warning.
"""
_OWN_HEADER = """\
# Checksums of the first downloads of this checkout; every later download must be the same. Written by `mdnmt fetch`
# and by the workflow, ignored by git. `mdnmt pin` moves them into corpora.lock.yaml, which is under version control.
# To accept another file, remove its corpus here and run `mdnmt fetch` for it.
"""


class LockRow(Frozen):
    """One file as it was first downloaded."""

    file: FileName
    size_bytes: int = Field(ge=0)
    sha256: Sha256
    origin: str  # the address that it came from, or the package with its version
    date: datetime.date


class Lock(Frozen):
    """The rows of each corpus: binding ones (`corpora`), and those that only cause a warning (`known`)."""

    corpora: dict[Name, tuple[LockRow, ...]] = Field(default_factory=dict)
    known: dict[Name, tuple[LockRow, ...]] = Field(default_factory=dict)

    def row(self, corpus: str, file: str) -> LockRow | None:
        """Return the row of a file; None if it was never downloaded."""
        return next((row for row in self.corpora.get(corpus, ()) if row.file == file), None)


NO_LOCK = Lock()


def own_lock(path: Path) -> Path:
    """Return the lock beside `path` that belongs to this checkout only."""
    return path.with_name(path.name.replace(".lock.", ".own.lock."))


def read_lock(config_folder: Path) -> Lock:
    """Return both locks of a checkout as one; it is empty if nothing has been locked yet.

    Raises:
        ConfigError: a lock has an invalid value, or the two disagree.
    """
    path = config_folder / LOCK
    shared, own = _read(config_file(config_folder, LOCK)), _read(own_lock(path))
    corpora = dict(shared.corpora)
    for name, rows in own.corpora.items():
        there = {row.file: row for row in shared.corpora.get(name, ())}
        for row in rows:
            if row.file in there and there[row.file].sha256 != row.sha256:
                raise ConfigError(
                    f"{own_lock(path)}: {name}: {row.file} has sha256 {row.sha256}, but {LOCK} says "
                    f"{there[row.file].sha256}; remove {name} from one of the two, then run `mdnmt fetch {name}`"
                )
        corpora[name] = (*there.values(), *(row for row in rows if row.file not in there))
    return Lock(corpora=corpora, known=shared.known)


def add_rows(config_folder: Path, corpus: str, rows: Mapping[str, LockRow]) -> None:
    """Add the files (by name) of a corpus that have no row yet to the checkout's own lock; existing rows stay.

    Raises:
        ConfigError: as `read_lock`.
    """
    path = own_lock(config_folder / LOCK)
    config_folder.mkdir(parents=True, exist_ok=True)
    with locked_folder(config_folder):
        known = {row.file for row in read_lock(config_folder).corpora.get(corpus, ())}
        new = [row for file, row in rows.items() if file not in known]
        if not new:
            return
        own = _read(path)
        _write(path, Lock(corpora={**own.corpora, corpus: (*own.corpora.get(corpus, ()), *new)}), _OWN_HEADER)


def pin_rows(config_folder: Path) -> list[str]:
    """Move all rows of the checkout's own lock into the lock under version control; return a line for each.

    Raises:
        ConfigError: as `read_lock`.
    """
    path = config_folder / LOCK
    if not own_lock(path).exists():
        return []
    with locked_folder(config_folder):
        merged, own = read_lock(config_folder), _read(own_lock(path))
        _write(path, merged, _HEADER)
        own_lock(path).unlink()
    return [f"{name}: {row.file}, sha256 {row.sha256}" for name, rows in own.corpora.items() for row in rows]


def _read(path: Path) -> Lock:
    return load_model(path, Lock) if path.exists() else NO_LOCK


def _write(path: Path, lock: Lock, header: str) -> None:
    value = {
        key: {
            name: [row.model_dump(mode="json") for row in sorted(found[name], key=lambda row: row.file)]
            for name in sorted(found)
        }
        for key, found in (("corpora", lock.corpora), ("known", lock.known))
        if found
    }
    fsio.write_text(path, header + yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=120))


def differences_from_known(lock: Lock, corpus: str, rows: Mapping[str, LockRow]) -> list[str]:
    """Return a warning for each file that differs from the one that the project's own results were made from."""
    known = {row.file: row for row in lock.known.get(corpus, ())}
    return [
        f"{corpus}: {file} ({row.origin}) is not the one that the project's own results were made from "
        f"({known[file].origin}, {known[file].date}); it is accepted and locked: expect slightly different scores"
        for file, row in rows.items()
        if file in known and known[file].sha256 != row.sha256
    ]


@contextmanager
def locked_folder(folder: Path) -> Iterator[None]:
    """Lock `folder`, if its file system has locks, so that no other process of this machine writes to it."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
