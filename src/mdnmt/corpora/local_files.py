"""Files of a corpus in a user's own folder."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from mdnmt.config.corpus_reader import ReaderConfig
from mdnmt.corpora.formats.folder import Folder
from mdnmt.corpora.readers import HELD_OUT, folder_reader
from mdnmt.errors import DataError

# As the list of a corpus' files takes it (`FileSpec`).
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*")


def local_files(folder: Path, languages: Sequence[str], options: ReaderConfig) -> list[str]:
    """Return the names of a local corpus' files: those of train, and of valid and test where they exist.

    Raises:
        DataError: a file is missing, exists both plain and compressed, or has a name with blanks or signs.
    """
    archive = Folder(folder, unpacked_bytes_max=0)  # only names are looked at
    found = folder_reader(options.name)
    if found is None:
        raise DataError(f"{folder}: the reader {options.name!r} reads archives, no folder")
    names = [name for split in ("train", *HELD_OUT) for name in found.split_files(archive, split, languages, options)]
    for name in names:
        if not _NAME.fullmatch(name):
            raise DataError(f"{folder}: {name!r}: rename the file, with nothing but a-z, A-Z, digits and ._+-")
    return names


def check_text(folder: Path, languages: Sequence[str], options: ReaderConfig, unpacked_bytes_max: int) -> None:
    """Read every segment of a local corpus once, and keep none.

    Raises:
        DataError: something in it is not what it should be; file and line are named.
    """
    archive = Folder(folder, unpacked_bytes_max)
    found = folder_reader(options.name)
    assert found is not None  # `local_files` has seen to that
    for other in languages[1:]:
        for _ in found.read(archive, languages[0], other, options):
            pass
        for split in HELD_OUT:
            for _ in found.held_out(archive, split, languages[0], other, options) or ():
                pass
