"""Files that the user downloads by hand: instructions, and a check of the file."""

from __future__ import annotations

import fnmatch
from pathlib import Path

from mdnmt.config.corpus_source import ManualSource
from mdnmt.corpora.corpus_spec import FileSpec
from mdnmt.corpora.formats.archive import open_archive
from mdnmt.errors import FetchError


def path_of(source: ManualSource) -> Path:
    """Return where the file is expected."""
    return Path(source.folder).expanduser() / source.file


def what_to_do(source: ManualSource) -> str:
    """Return in one line where to get the file, its name, its folder and its contents."""
    holds = ", ".join(source.members)
    return f"{source.page}: {source.steps}; then put it there as {source.folder}/{source.file} (it contains {holds})"


def check(source: ManualSource, wanted: FileSpec, unpacked_bytes_max: int) -> None:
    """Check the file against what is known of it.

    Raises:
        FetchError: it is missing, is another file, or lacks a member.
        DataError: it is not an archive, or has a refused member.
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
