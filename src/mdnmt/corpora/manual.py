"""Files that the user gets by hand: what to do for one, and whether the one that is there is the right one."""

from __future__ import annotations

import fnmatch
from pathlib import Path

from mdnmt.config.corpus_source import ManualSource
from mdnmt.corpora.archive import open_archive
from mdnmt.corpora.spec import FileSpec
from mdnmt.errors import FetchError


def path_of(source: ManualSource) -> Path:
    """Return where the file is looked for."""
    return Path(source.folder).expanduser() / source.file


def what_to_do(source: ManualSource) -> str:
    """Return in one line where the file is to be had, what it is called, where it goes, and what it contains."""
    holds = ", ".join(source.members)
    return f"{source.page}: {source.steps}; then put it there as {source.folder}/{source.file} (it contains {holds})"


def check(source: ManualSource, wanted: FileSpec, unpacked_bytes_max: int) -> None:
    """Hold the file against what is known of it.

    Raises:
        FetchError: it is not there, is another one, is no archive, or lacks a member; what to do is told.
        DataError: it is no archive, or holds a member that is refused.
    """
    path = path_of(source)
    if not path.is_file():
        raise FetchError(f"{path}: is not there; {what_to_do(source)}")
    difference = wanted.difference(path)
    if difference is not None:
        raise FetchError(f"{path}: {difference}; put the right file there ({what_to_do(source)})")
    with open_archive(path, unpacked_bytes_max) as archive:
        names = archive.names()
    for member in source.members:
        if not fnmatch.filter(names, member):
            raise FetchError(f"{path}: has no {member}; put the right file there ({what_to_do(source)})")
