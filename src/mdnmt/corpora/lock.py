"""The lock, `config/corpora.lock.yaml`: what was downloaded first, and every later download is held against.

Its `corpora` belong to the user's checkout. A corpus whose checksum is not pinned in its own file has no identity
before its first download, so that download is a step of its own (`mdnmt fetch <corpus>`); from then on nothing is new.

Its `known` come with the project: what the files were that its own results were made of. Packages without a pinned
version move on, so another file is taken, and only told.
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

LOCK = "corpora.lock.yaml"
_HEADER = """\
# What each corpus was when it was downloaded first; every later download is held against it. Made by `mdnmt fetch`.
# To accept another file in the place of one, remove its corpus under `corpora` and fetch it again. Corpora whose own
# file has the sha256 are held against that. `known`: the files that the project's own results were made of; another
# one is taken, and told.
"""


class LockRow(Frozen):
    """One file as it was when it came first."""

    file: FileName
    size_bytes: int = Field(ge=0)
    sha256: Sha256
    origin: str  # the address that it came from, or the package with its version
    date: datetime.date


class Lock(Frozen):
    """The rows of each corpus: those that are insisted on, and those that are only compared with."""

    corpora: dict[Name, tuple[LockRow, ...]] = Field(default_factory=dict)
    known: dict[Name, tuple[LockRow, ...]] = Field(default_factory=dict)

    def row(self, corpus: str, file: str) -> LockRow | None:
        """Return the row of a file, or None when it was never downloaded."""
        return next((row for row in self.corpora.get(corpus, ()) if row.file == file), None)


NO_LOCK = Lock()


def read_lock(config_folder: Path) -> Lock:
    """Return the lock of a checkout; it is empty where nothing was locked yet.

    Raises:
        ConfigError: something in it is not allowed.
    """
    path = config_folder / LOCK
    return load_model(path, Lock) if path.exists() else NO_LOCK


def add_rows(config_folder: Path, corpus: str, rows: Mapping[str, LockRow]) -> None:
    """Add the files (by name) of a corpus that have no row yet; what is there stays as it is.

    Raises:
        ConfigError: as `read_lock`.
    """
    with alone(config_folder):
        lock = read_lock(config_folder)
        there = {row.file: row for row in lock.corpora.get(corpus, ())}
        if not rows.keys() - there.keys():
            return
        merged = {**rows, **there}
        corpora = {**lock.corpora, corpus: tuple(merged[file] for file in sorted(merged))}
        value = {
            key: {name: [row.model_dump(mode="json") for row in found[name]] for name in sorted(found)}
            for key, found in (("corpora", corpora), ("known", lock.known))
            if found
        }
        text = yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=120)
        fsio.write_text(config_folder / LOCK, _HEADER + text)


def differing(lock: Lock, corpus: str, rows: Mapping[str, LockRow]) -> list[str]:
    """Return a line for each of some files that is another one than the project's own results were made of."""
    known = {row.file: row for row in lock.known.get(corpus, ())}
    return [
        f"{corpus}: {file} ({row.origin}) is not the one that the project's own results were made of "
        f"({known[file].origin}, {known[file].date}); it is taken, and locked: expect slightly other scores"
        for file, row in rows.items()
        if file in known and known[file].sha256 != row.sha256
    ]


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Keep other processes of this machine from writing a lock in `folder` meanwhile, where its system can do that."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
